"""lmms-eval on all ranks, as one process: python -m muster.lmms_eval ARGUMENTS OF lmms-eval

As muster.lm_eval, with its three options. Requests of lmms-eval refer to documents and functions of their tasks: each rank loads the
tasks. Batches are --batch_size requests in the order in which lmms-eval makes them. Requests with functions of their own, as those of
agents, are done by rank 0 alone.

Exit status: lmms-eval's, and 1 if it ended with 0 after an error; 79: batches were given up; 80: the job ends soon, start it again
with the same journal.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

from ._dispatch import Ranks, Settings, in_pieces
from ._errors import TimeIsUpError, UsageError
from . import _world
from ._harness import ModelOfAllRanks, alone, new_call, run_harness, run_program, seed, seeds, work_of

METHODS = ("loglikelihood", "generate_until", "generate_until_multi_round")

_Batch = list[Any]


def main() -> None:
    """lmms-eval's command line, from sys.argv. Every rank calls it."""
    run_harness(_import_harness, lambda ranks, settings: _Run(ranks, settings).harness(), _Server().begin)


def _import_harness() -> None:
    try:
        import lmms_eval.evaluator  # noqa: F401
    except ImportError as error:
        raise UsageError(f"lmms-eval cannot be imported: {error}", "pip install lmms-eval") from error


class _Tasks:
    """The tasks of the run by name, and their functions by reference: on each rank they are its own."""

    def __init__(self, loaded: Any) -> None:
        self.tasks: dict[str, Any] = {}
        self._add(loaded)

    def _add(self, loaded: Any) -> None:
        for name, value in loaded.items():
            if isinstance(value, dict):
                self._add(value)
                continue
            task = value[1] if isinstance(value, tuple) else value
            if task is not None:
                self.tasks[str(name)] = task

    def refer(self, value: Any) -> Any:
        if not callable(value):
            return value
        for name, task in self.tasks.items():
            if getattr(value, "__self__", None) is task:
                return _Reference(name, value.__name__, False)
            text = getattr(getattr(task, "config", None), "doc_to_text", None)
            if isinstance(value, functools.partial) and value.func is text and list(value.keywords) == ["lmms_eval_specific_kwargs"]:
                return _Reference(name, "doc_to_text", True)
        raise LookupError(value)

    def resolve(self, value: Any) -> Any:
        if not isinstance(value, _Reference):
            return value
        task = self.tasks[value.task]
        if value.partial:
            return functools.partial(task.config.doc_to_text, lmms_eval_specific_kwargs=task.lmms_eval_specific_kwargs)
        return getattr(task, value.name)


class _Reference:
    def __init__(self, task: str, name: str, partial: bool) -> None:
        self.task = task
        self.name = name
        self.partial = partial


# ---- rank 0


class _Run:
    def __init__(self, ranks: Ranks, settings: Settings) -> None:
        self.ranks = ranks
        self.settings = settings
        self.tasks = _Tasks({})
        self.error: BaseException | None = None  # that ended lmms-eval, or that it has logged and swallowed

    def harness(self) -> BaseException | None:
        """The error that it has swallowed."""
        import lmms_eval.__main__ as program
        import lmms_eval.evaluator
        import lmms_eval.models

        own_model, own_tasks = lmms_eval.models.get_model, lmms_eval.evaluator.get_task_dict
        own_evaluate = program.cli_evaluate_single

        def get_model(name: str, *more: Any) -> _Factory:
            return _Factory(own_model(name, *more), (name, *more), self)

        def get_task_dict(names: Any, manager: Any = None, *more: Any) -> Any:
            self.ranks.announce(("tasks", names, _of_manager(manager), more))
            loaded = own_tasks(names, manager, *more)
            self.tasks = _Tasks(loaded)
            return loaded

        def cli_evaluate_single(*words: Any, **more: Any) -> Any:
            try:
                return own_evaluate(*words, **more)
            except TimeIsUpError as error:
                # No error of the harness, which would log a traceback.
                self.error = error
                raise SystemExit(error.exit_status) from None
            except Exception as error:
                self.error = error
                raise

        lmms_eval.models.get_model = get_model
        lmms_eval.evaluator.get_task_dict = get_task_dict
        program.cli_evaluate_single = cli_evaluate_single
        try:
            program.cli_evaluate()
        except SystemExit:
            if not isinstance(self.error, TimeIsUpError):
                raise
        finally:
            lmms_eval.models.get_model = own_model
            lmms_eval.evaluator.get_task_dict = own_tasks
            program.cli_evaluate_single = own_evaluate
        return self.error


def _of_manager(manager: Any) -> tuple[Any, Any]:
    return getattr(manager, "include_path", None), getattr(manager, "model_name", None)


class _Factory:
    """The model's class, as simple_evaluate uses it."""

    def __init__(self, kind: Any, chosen: Any, run: _Run) -> None:
        self._kind = kind
        self._chosen = chosen
        self._run = run

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kind, name)

    def create_from_arg_string(self, arguments: Any, more: Any = None) -> Dispatcher:
        self._run.ranks.announce(("model", self._chosen, arguments, more, seeds()))
        model = self._kind.create_from_arg_string(arguments, more)
        import lmms_eval

        work = work_of(f"lmms-eval {getattr(lmms_eval, '__version__', '')}", [self._chosen, arguments], more)
        # The results name the model's class.
        kind = type(model.__class__.__name__, (Dispatcher,), {"__module__": model.__class__.__module__})
        dispatcher: Dispatcher = kind(model, work, (more or {}).get("batch_size"), self._run)
        return dispatcher


class Dispatcher(ModelOfAllRanks):
    def __init__(self, model: Any, work: str, batch_size: Any, run: _Run) -> None:
        super().__init__(model, work, run.ranks, run.settings)
        self._size = int(batch_size) if str(batch_size).isdigit() and int(batch_size) > 0 else 1
        self._run = run

    def __getattr__(self, name: str) -> Any:
        if name in METHODS:
            return functools.partial(self._dispatch, name)
        return super().__getattr__(name)

    def _dispatch(self, method: str, requests: list[Any]) -> list[Any]:
        if not requests:
            return []
        try:
            sent = [_sent(request, self._run.tasks) for request in requests]
        except LookupError as error:
            _world.log(_world.WARNING, f"rank 0 alone does {len(requests)} requests ({method}), which cannot be sent to the other ranks: they contain {error}")
            return list(getattr(self._model, method)(requests))
        batches = in_pieces(range(len(requests)), self._size)
        call = new_call(method, self._work, self._settings, batches, requests, sent)
        every = self._ranks.call(call, _worker(self._model, self._run.tasks))
        return [answer for answers in every for answer in answers]


def _sent(request: Any, tasks: _Tasks) -> Any:
    return [tasks.refer(value) for value in request.args], request.idx, request.metadata


# ---- every rank


class _Server:
    """The model and the tasks of a rank, as rank 0 has announced them."""

    def __init__(self) -> None:
        self._model: Any = None
        self._tasks = _Tasks({})

    def begin(self, announced: Any) -> Callable[[str, _Batch, str], list[Any]]:
        kind, *rest = announced
        if kind == "model":
            self._load_model(*rest)
        else:
            self._load_tasks(*rest)
        return _worker(self._model, self._tasks)

    def _load_model(self, chosen: Any, arguments: Any, more: Any, state: Any) -> None:
        import lmms_eval.models

        seed(state)
        self._model = lmms_eval.models.get_model(*chosen).create_from_arg_string(arguments, more)

    def _load_tasks(self, names: Any, manager: Any, more: Any) -> None:
        from lmms_eval.tasks import TaskManager, get_task_dict

        include_path, model_name = manager
        loaded = get_task_dict(names, TaskManager(include_path=include_path, model_name=model_name), *more)
        self._tasks = _Tasks(loaded)
        for name, task in self._tasks.tasks.items():
            self._model.task_dict[name] = task.dataset


def _worker(model: Any, tasks: _Tasks) -> Callable[[str, _Batch, str], list[Any]]:
    """Does one batch."""
    from lmms_eval.api.instance import Instance

    def work(method: str, batch: _Batch, key: str) -> list[Any]:
        requests = [
            Instance(method, tuple(tasks.resolve(value) for value in arguments), index, metadata) for arguments, index, metadata in batch
        ]
        with alone(_sample(requests), key):
            return list(getattr(model, method)(requests))

    return work


def _sample(requests: list[Any]) -> bool:
    settings = [value for request in requests for value in request.args if isinstance(value, dict)]
    return any(one.get("do_sample") or one.get("temperature") for one in settings)


if __name__ == "__main__":
    run_program("muster.lmms_eval", main)
