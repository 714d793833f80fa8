// digits_kernel.cu as NVIDIA's assembly language, which drivers from CUDA 10 on compile for the GPU they
// have. Generated, with the version and target lowered to the least that the kernel needs:
//
//   nvcc -ptx -arch=compute_75 -o - deploy/examples/digits_kernel.cu |
//     sed 's/^[.]version .*/.version 6.3/; s/^[.]target .*/.target sm_50/'
#include "deploy/examples/gpu_classifier.h"

namespace muster::examples {

// clang-format off
const char* const kDigitsKernel = R"ptx(
.version 6.3
.target sm_50
.address_size 64

.visible .entry digits_nearest(
	.param .u64 digits_nearest_param_0,
	.param .u64 digits_nearest_param_1,
	.param .u32 digits_nearest_param_2,
	.param .u32 digits_nearest_param_3,
	.param .u32 digits_nearest_param_4,
	.param .u64 digits_nearest_param_5
)
{
	.reg .pred 	%p<7>;
	.reg .b16 	%rs<10>;
	.reg .b32 	%r<91>;
	.reg .b64 	%rd<23>;


	ld.param.u64 	%rd9, [digits_nearest_param_0];
	ld.param.u64 	%rd10, [digits_nearest_param_1];
	ld.param.u32 	%r11, [digits_nearest_param_2];
	ld.param.u32 	%r12, [digits_nearest_param_3];
	ld.param.u32 	%r13, [digits_nearest_param_4];
	ld.param.u64 	%rd11, [digits_nearest_param_5];
	mov.u32 	%r14, %ntid.x;
	mov.u32 	%r15, %ctaid.x;
	mov.u32 	%r16, %tid.x;
	mad.lo.s32 	%r1, %r15, %r14, %r16;
	setp.ge.u32 	%p1, %r1, %r13;
	@%p1 bra 	$L__BB0_10;

	add.s32 	%r2, %r1, %r12;
	setp.eq.s32 	%p2, %r11, 0;
	mov.u16 	%rs8, 0;
	@%p2 bra 	$L__BB0_9;

	cvta.to.global.u64 	%rd12, %rd9;
	shl.b32 	%r19, %r2, 6;
	add.s64 	%rd1, %rd12, 7;
	cvt.u64.u32 	%rd13, %r19;
	add.s64 	%rd14, %rd12, %rd13;
	add.s64 	%rd2, %rd14, 7;
	cvta.to.global.u64 	%rd3, %rd10;
	mov.u32 	%r90, 2147483647;
	mov.u16 	%rs8, 0;
	mov.u32 	%r86, 0;

$L__BB0_3:
	setp.eq.s32 	%p3, %r86, %r2;
	@%p3 bra 	$L__BB0_8;

	shl.b32 	%r22, %r86, 6;
	cvt.u64.u32 	%rd15, %r22;
	add.s64 	%rd22, %rd1, %rd15;
	mov.u32 	%r88, 0;
	mov.u64 	%rd21, %rd2;
	mov.u32 	%r89, %r88;

$L__BB0_5:
	ld.global.u8 	%r23, [%rd21+-7];
	ld.global.u8 	%r24, [%rd22+-7];
	sub.s32 	%r25, %r23, %r24;
	mad.lo.s32 	%r26, %r25, %r25, %r89;
	ld.global.u8 	%r27, [%rd21+-6];
	ld.global.u8 	%r28, [%rd22+-6];
	sub.s32 	%r29, %r27, %r28;
	mad.lo.s32 	%r30, %r29, %r29, %r26;
	ld.global.u8 	%r31, [%rd21+-5];
	ld.global.u8 	%r32, [%rd22+-5];
	sub.s32 	%r33, %r31, %r32;
	mad.lo.s32 	%r34, %r33, %r33, %r30;
	ld.global.u8 	%r35, [%rd21+-4];
	ld.global.u8 	%r36, [%rd22+-4];
	sub.s32 	%r37, %r35, %r36;
	mad.lo.s32 	%r38, %r37, %r37, %r34;
	ld.global.u8 	%r39, [%rd21+-3];
	ld.global.u8 	%r40, [%rd22+-3];
	sub.s32 	%r41, %r39, %r40;
	mad.lo.s32 	%r42, %r41, %r41, %r38;
	ld.global.u8 	%r43, [%rd21+-2];
	ld.global.u8 	%r44, [%rd22+-2];
	sub.s32 	%r45, %r43, %r44;
	mad.lo.s32 	%r46, %r45, %r45, %r42;
	ld.global.u8 	%r47, [%rd21+-1];
	ld.global.u8 	%r48, [%rd22+-1];
	sub.s32 	%r49, %r47, %r48;
	mad.lo.s32 	%r50, %r49, %r49, %r46;
	ld.global.u8 	%r51, [%rd21];
	ld.global.u8 	%r52, [%rd22];
	sub.s32 	%r53, %r51, %r52;
	mad.lo.s32 	%r54, %r53, %r53, %r50;
	ld.global.u8 	%r55, [%rd21+1];
	ld.global.u8 	%r56, [%rd22+1];
	sub.s32 	%r57, %r55, %r56;
	mad.lo.s32 	%r58, %r57, %r57, %r54;
	ld.global.u8 	%r59, [%rd21+2];
	ld.global.u8 	%r60, [%rd22+2];
	sub.s32 	%r61, %r59, %r60;
	mad.lo.s32 	%r62, %r61, %r61, %r58;
	ld.global.u8 	%r63, [%rd21+3];
	ld.global.u8 	%r64, [%rd22+3];
	sub.s32 	%r65, %r63, %r64;
	mad.lo.s32 	%r66, %r65, %r65, %r62;
	ld.global.u8 	%r67, [%rd21+4];
	ld.global.u8 	%r68, [%rd22+4];
	sub.s32 	%r69, %r67, %r68;
	mad.lo.s32 	%r70, %r69, %r69, %r66;
	ld.global.u8 	%r71, [%rd21+5];
	ld.global.u8 	%r72, [%rd22+5];
	sub.s32 	%r73, %r71, %r72;
	mad.lo.s32 	%r74, %r73, %r73, %r70;
	ld.global.u8 	%r75, [%rd21+6];
	ld.global.u8 	%r76, [%rd22+6];
	sub.s32 	%r77, %r75, %r76;
	mad.lo.s32 	%r78, %r77, %r77, %r74;
	ld.global.u8 	%r79, [%rd21+7];
	ld.global.u8 	%r80, [%rd22+7];
	sub.s32 	%r81, %r79, %r80;
	mad.lo.s32 	%r82, %r81, %r81, %r78;
	ld.global.u8 	%r83, [%rd21+8];
	ld.global.u8 	%r84, [%rd22+8];
	sub.s32 	%r85, %r83, %r84;
	mad.lo.s32 	%r89, %r85, %r85, %r82;
	add.s64 	%rd22, %rd22, 16;
	add.s64 	%rd21, %rd21, 16;
	add.s32 	%r88, %r88, 16;
	setp.ne.s32 	%p4, %r88, 64;
	@%p4 bra 	$L__BB0_5;

	setp.ge.s32 	%p5, %r89, %r90;
	@%p5 bra 	$L__BB0_8;

	cvt.u64.u32 	%rd16, %r86;
	add.s64 	%rd17, %rd3, %rd16;
	ld.global.u8 	%rs8, [%rd17];
	mov.u32 	%r90, %r89;

$L__BB0_8:
	add.s32 	%r86, %r86, 1;
	setp.lt.u32 	%p6, %r86, %r11;
	@%p6 bra 	$L__BB0_3;

$L__BB0_9:
	cvt.u64.u32 	%rd18, %r1;
	cvta.to.global.u64 	%rd19, %rd11;
	add.s64 	%rd20, %rd19, %rd18;
	st.global.u8 	[%rd20], %rs8;

$L__BB0_10:
	ret;

}
)ptx";
// clang-format on

}  // namespace muster::examples
