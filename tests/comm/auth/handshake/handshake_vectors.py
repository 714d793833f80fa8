#!/usr/bin/env python3
"""The handshakes of comm/auth/README.md, written a second time, from that page alone: prints the test vectors.

    tests/comm/auth/handshake/handshake_vectors.py >tests/comm/auth/handshake/handshake_vectors.txt

handshake_vectors_test holds muster's own code to that file. Nothing but Python's standard library is used: X25519 is
RFC 7748 section 5, ChaCha20-Poly1305 is RFC 8439 section 2.8, AES-256-GCM is FIPS 197 and NIST SP 800-38D.
"""

import hashlib
import struct

VERSION = 7
RECORDS_PER_KEY = 2**22
P = 2**255 - 19


def x25519(scalar, point):
    k = int.from_bytes(scalar, "little") & ~7 & ((1 << 255) - 1) | 1 << 254
    x1 = int.from_bytes(point, "little") & ((1 << 255) - 1)
    x2, z2, x3, z3, swap = 1, 0, x1, 1, 0
    for t in reversed(range(255)):
        bit = k >> t & 1
        if swap ^ bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        da, cb = d * a, c * b
        aa, bb = a * a, b * b
        e = aa - bb
        x3, z3 = (da + cb) ** 2 % P, x1 * (da - cb) ** 2 % P
        x2, z2 = aa * bb % P, e * (aa + 121665 * e) % P
    if swap:
        x2, z2 = x3, z3
    return (x2 * pow(z2, P - 2, P) % P).to_bytes(32, "little")


def chacha_block(key, counter, nonce):
    def rotate(value, bits):
        return (value << bits | value >> 32 - bits) & 0xFFFFFFFF

    def quarter(s, a, b, c, d):
        for x, y, z, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            s[x] = (s[x] + s[y]) & 0xFFFFFFFF
            s[z] = rotate(s[z] ^ s[x], bits)

    state = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *struct.unpack("<8I", key), counter]
    state += struct.unpack("<3I", nonce)
    work = state[:]
    for _ in range(10):
        for column in range(4):
            quarter(work, column, column + 4, column + 8, column + 12)
        for diagonal in range(4):
            quarter(work, diagonal, (diagonal + 1) % 4 + 4, (diagonal + 2) % 4 + 8, (diagonal + 3) % 4 + 12)
    return struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(state, work)))


def poly1305(key, message):
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for at in range(0, len(message), 16):
        total = (total + int.from_bytes(message[at : at + 16] + b"\1", "little")) * r % ((1 << 130) - 5)
    return ((total + int.from_bytes(key[16:], "little")) % (1 << 128)).to_bytes(16, "little")


def times(a, b):
    """In GF(2^8) of AES."""
    product = 0
    while b:
        product ^= a * (b & 1)
        a, b = a << 1 ^ (0x11B if a & 0x80 else 0), b >> 1
    return product


def s_box():
    box = []
    for value in range(256):
        inverse = next((other for other in range(256) if times(value, other) == 1), 0)
        box.append(0x63)
        for shift in range(5):
            box[-1] ^= (inverse << shift | inverse >> 8 - shift) & 0xFF
    return box


S_BOX = s_box()


def aes256_block(key, block):
    words = [key[at : at + 4] for at in range(0, 32, 4)]
    constant = 1
    for i in range(8, 60):
        word = words[-1]
        if i % 8 == 0:
            word = bytes(S_BOX[byte] for byte in word[1:] + word[:1])
            word = bytes([word[0] ^ constant]) + word[1:]
            constant = times(constant, 2)
        elif i % 8 == 4:
            word = bytes(S_BOX[byte] for byte in word)
        words.append(bytes(a ^ b for a, b in zip(words[-8], word)))
    state = block
    for turn in range(15):
        if turn > 0:
            state = [S_BOX[state[(i + 4 * (i % 4)) % 16]] for i in range(16)]
        if 0 < turn < 14:
            state = [
                times(2, state[i])
                ^ times(3, state[i - i % 4 + (i + 1) % 4])
                ^ state[i - i % 4 + (i + 2) % 4]
                ^ state[i - i % 4 + (i + 3) % 4]
                for i in range(16)
            ]
        state = [a ^ b for a, b in zip(state, b"".join(words[4 * turn : 4 * turn + 4]))]
    return bytes(state)


def ghash(key, text):
    h, total = int.from_bytes(key, "big"), 0
    for at in range(0, len(text), 16):
        x, v, total = total ^ int.from_bytes(text[at : at + 16], "big"), h, 0
        for bit in reversed(range(128)):
            total ^= v * (x >> bit & 1)
            v = v >> 1 ^ (0xE1 << 120 if v & 1 else 0)
    return total.to_bytes(16, "big")


def seal_aes(key, number, plaintext):
    """README: the nonce is that of ChaCha20-Poly1305."""
    counters = [bytes(4) + struct.pack("<Q", number) + struct.pack(">I", i + 1) for i in range(len(plaintext) // 16 + 2)]
    stream = b"".join(aes256_block(key, counter) for counter in counters)
    sealed = bytes(a ^ b for a, b in zip(plaintext, stream[16:]))
    padded = sealed + bytes(-len(sealed) % 16) + struct.pack(">QQ", 0, 8 * len(sealed))
    return sealed + bytes(a ^ b for a, b in zip(ghash(aes256_block(key, bytes(16)), padded), stream))


def seal(key, number, plaintext):
    """README: the nonce is four zero bytes and the message's number."""
    nonce = bytes(4) + struct.pack("<Q", number)
    stream = b"".join(chacha_block(key, 1 + i, nonce) for i in range(len(plaintext) // 64 + 1))
    sealed = bytes(a ^ b for a, b in zip(plaintext, stream))
    padded = sealed + bytes(-len(sealed) % 16) + struct.pack("<QQ", 0, len(sealed))
    return sealed + poly1305(chacha_block(key, 0, nonce)[:32], padded)


def H(key, *parts):
    """README: keyed BLAKE2b of 32 bytes over the parts, each behind its length as u64."""
    parts = [part.encode() if isinstance(part, str) else part for part in parts]
    return hashlib.blake2b(
        b"".join(struct.pack("<Q", len(part)) + part for part in parts), key=key, digest_size=32
    ).digest()


def pattern(first):
    return bytes((first + i) % 256 for i in range(32))


def string(text):
    """README: its length as u32, then its bytes."""
    return struct.pack("<I", len(text)) + text.encode()


MEETING_KEY = "slurm uid=1000 cluster=c job=4 step=0"
SECRET, CLIENT_SECRET, SERVER_SECRET = pattern(0x10), pattern(0x40), pattern(0x70)
CLIENT_NONCE, SERVER_NONCE = pattern(0xA0), pattern(0xC0)
BASE = (9).to_bytes(32, "little")
CLIENT_KEY, SERVER_KEY = x25519(CLIENT_SECRET, BASE), x25519(SERVER_SECRET, BASE)
MEETING = H(b"", "muster meeting", MEETING_KEY)[:16]
PSK = H(SECRET, "muster job secret: handshake")
AGREED = x25519(CLIENT_SECRET, SERVER_KEY)
HEAD = b"MUSTER"
REASONS = ["wrong_meeting", "other_version", "other_method", "bad_proof", "no_proof", "malformed", "other_clock"]


def ends(show):
    """The values of both ends, the same for all methods, and the rejects."""
    assert AGREED == x25519(SERVER_SECRET, CLIENT_KEY)
    show(meeting_key=MEETING_KEY.encode(), secret=SECRET, client_secret=CLIENT_SECRET, server_secret=SERVER_SECRET)
    show(client_nonce=CLIENT_NONCE, server_nonce=SERVER_NONCE, client_key=CLIENT_KEY, server_key=SERVER_KEY)
    show(meeting=MEETING, psk=PSK, agreed=AGREED)
    for number, reason in enumerate(REASONS, 1):
        show(**{f"reject_{reason}": HEAD + struct.pack("<BHBB", 3, VERSION, 2, number)})


def control(show, prefix, method, psk, own_proof):
    """The hello between a leader and the root."""
    hello = HEAD + struct.pack("<BHB", 1, VERSION, method) + MEETING + CLIENT_NONCE + CLIENT_KEY
    if psk:
        hello += H(H(psk, "muster hello key"), "muster hello", hello)
    answer = HEAD + struct.pack("<BHB", 2, VERSION, method) + SERVER_NONCE + SERVER_KEY
    transcript = H(b"", "muster transcript", hello, answer)
    master = H(AGREED, "muster master", psk, transcript)

    def key(phase, sender):
        return H(master, "muster channel", phase, f"from the {sender}")

    values = dict(
        hello=hello,
        transcript=transcript,
        master=master,
        answer=answer + seal(key("handshake", "server"), 0, own_proof),
        proof=HEAD + b"\4" + seal(key("handshake", "client"), 0, own_proof),
        verdict=HEAD + b"\5" + seal(key("handshake", "server"), 1, b"\1" + string("") + string("")),
        refusal=HEAD + b"\5" + seal(key("handshake", "server"), 1, b"\0" + string("it runs as uid 7") + string("use one user")),
        client_frame=seal(key("traffic", "client"), 0, b"a frame"),
        server_frame=seal(key("traffic", "server"), 0, b"a frame"),
    )
    show(**{prefix + name: value for name, value in values.items()})
    if method == 1:
        for role, name in ((1, "client"), (2, "server")):
            show(**{f"munge_{name}_payload": string("muster handshake") + bytes([role]) + struct.pack("<I", 32) + transcript})


def data(show):
    """A data connection from rank 3 to rank 1, sealed with ChaCha20-Poly1305; records of one with AES-256-GCM."""
    group_key, connector, acceptor = pattern(0x01), pattern(0x21), pattern(0x41)
    group_id, communicator, purpose, offered = "0123456789abcdef", 7, 1, 3
    ends = struct.pack("<ii", 3, 1)

    def context(chosen):
        return f"{group_id}/{communicator:016x}/{purpose}/{offered}/{chosen}"

    show(group_key=group_key, group_id=group_id.encode(), connector_nonce=connector, acceptor_nonce=acceptor)
    show(
        data_hello=struct.pack("<IiiBQB", 0x4853554D, 3, 1, purpose, communicator, offered) + connector,
        acceptor_answer=H(group_key, "muster member", context(1), b"\2" + ends, connector, acceptor),
        connector_answer=H(group_key, "muster member", context(1), b"\1" + ends, connector, acceptor),
    )
    for chosen, cipher, name in ((1, seal, ""), (2, seal_aes, "aes_")):
        connection = H(group_key, "muster data keys", context(chosen), ends, connector, acceptor)
        for sender in ("connector", "acceptor"):
            key = H(connection, "muster data record", bytes([chosen]), f"from the {sender}")
            show(**{f"{name}{sender}_record": cipher(key, 0, b"a record")})
            show(**{f"{name}{sender}_second_record": cipher(key, 1, b"a record")})
            if sender == "connector":
                following = H(key, "muster next record key")
                show(**{f"{name}{sender}_next_key_record": cipher(following, RECORDS_PER_KEY, b"a record")})
    place = struct.pack("<BBQQi", 1, 9, communicator, 42, 3)
    show(bytes_mac=H(H(group_key, "muster bytes key", group_id), "muster bytes", place, b"a pickle"))


def main():
    def show(**values):
        for name, value in values.items():
            print(f"{name} {value.hex()}")

    ends(show)
    control(show, "", 2, PSK, b"")
    control(show, "munge_", 1, PSK, b"MUNGE:fake:")
    control(show, "none_", 3, b"", b"")
    data(show)


if __name__ == "__main__":
    main()
