"""The recorded attentions of a watched model, by stack and layer."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from .._checks import index_of
from .._edited import word_places
from .._libraries import Torch
from .._plots import draw_image_map
from .._seen import Seen
from .._tables import table_of
from .._weights import Weights
from ..errors import InvalidArgument, NotFound, made, out_of_range, refused
from ._calls import Call
from ._finding import check_words
from ._image_maps import image_map, marked, patches_of, shares_of
from ._pieces import pieces, tokenizer_of
from ._runs import Run
from ._saved import Path, read, write
from ._scores import scores_of
from ._stacks import Place, names_of


class SeenModel:
    """The recorded attentions of a model, which :func:`watch` yields.

    Nothing of size [Tq, Tk] is stored: weights are computed when they are asked for.
    """

    silent: tuple[str, ...] = ()
    """The attention layers that ran but do not go through transformers' interface."""

    def __init__(self, model: str, tokenizer: Any = None):
        self._model = model
        self._tokenizer = tokenizer_of(tokenizer)
        self._runs: dict[Place, dict[int, list[Run]]] = {}
        self._logits: list[Tensor] = []

    @property
    def stacks(self) -> dict[str, list[int]]:
        """The layers of each stack: {"encoder": [0, 1], "decoder": [0, 1], "cross": [0, 1]}."""
        return {name: sorted(self._runs[place]) for name, place in self._places().items()}

    def attention(self, layer: int, stack: str | None = None, text: int = -1) -> Seen:
        """Returns the attention of one layer as a :class:`heed.Seen`.

        ``layer`` is one of the numbers in :attr:`stacks`, which are those of the model's modules;
        -1 is the last one. ``stack`` is a name in :attr:`stacks`; it may be left out if there is
        only one. If several texts ran, ``text`` is the index of one: 0 is the first, -1 the last. A
        prompt and the tokens that followed it with a cache are one text. If a layer is called for
        each image or window, each call is a text.

        The first question about a layer computes its log-sum-exp. It raises NotImplementedError if
        the output of the model's attention function is not the attention of its arguments, and the
        function returned no weights.
        """
        return self._run(layer, stack, text).seen

    @property
    def weights(self) -> Weights:
        """The weights of every layer, [layers, B, H, Tq, Tk] float32, computed when they are
        indexed: ``seen.weights[2, 0, 4, -1]``. Layers are counted from 0 in the order of
        :attr:`stacks`. These are the weights of the last text, in a model with one stack;
        :meth:`weights_of` has others."""
        return self.weights_of()

    def weights_of(self, stack: str | None = None, text: int = -1) -> Weights:
        """Returns the weights of every layer of a stack and a text, like :attr:`weights`."""
        layers = sorted(self._runs[self._place(stack)])
        shapes = {layer: self._run(layer, stack, text).shape for layer in layers}
        if len(set(shapes.values())) > 1:
            sizes = " and ".join(str(list(each)) for each in sorted(set(shapes.values())))
            raise refused("weights", "stack", f"layers of {sizes}",
                          "layers of one shape; attention(layer).weights has one layer's")  # fmt: skip

        def select(selected: list[list[int]]) -> np.ndarray:
            chosen, *others = selected
            found = np.empty([len(each) for each in selected], np.float32)
            for at, layer in enumerate(chosen if found.size else ()):
                found[at] = self._run(layers[layer], stack, text).seen.weights.selected(others)
            return found

        axes = ("layer", "batch", "head", "query", "key")
        return Weights(select, Torch(), (len(layers), *shapes[layers[0]]), axes)

    def tokens(self, stack: str | None = None, text: int = -1) -> list[list[Any]] | None:
        """Returns the tokens at the queries, one list per sequence: with a tokenizer the text that
        each adds (``" cat"``), else ids. Patches are named by the numbers of their image, row and
        column, ``" im0 r2 c5"``. None if the model got no ids."""
        run = self._run(self._first(stack), stack, text)
        ids = None if run.ids is None else run.ids.tolist()
        if ids is None or self._tokenizer is None:
            return ids
        found = []
        for sequence, of_one in enumerate(ids):
            words = [each.decode(errors="replace") for each in pieces(self._tokenizer, of_one)]
            for at, image in enumerate(run.images_of(sequence)):
                for token, label in image.labels(at).items():
                    words[token] = label
            found.append(words)
        return found

    def logits(self, text: int = -1) -> Tensor | None:
        """Returns the logits after the last token of a text (including generated tokens),
        [B, vocabulary]. None if the model does not write, or returned none."""
        if not self._logits:
            return None
        return self._logits[index_of("logits", "text", text, len(self._logits))]

    def heads(self, stack: str | None = None, text: int = -1) -> Any:
        """Returns scores with one row per head: a pandas.DataFrame where pandas is installed, else
        a :class:`heed.Table`.

        The scores are means over the queries of all sequences, without padding: the weight on the
        token before (``previous``), on the token itself (``current``), on the token after it
        (``next``) and on the first token (``sink``), the ``distance`` to the keys in tokens, the
        ``entropy`` in nats, the ``largest`` weight, and the weight on tokens that followed the same
        token elsewhere (``induction``). The first five are NaN for "cross". The first query does
        not count for ``current`` and ``sink``. ``induction`` is a mean over the queries that see
        such a key, and NaN if no token repeats, for "cross" and for images.
        """
        rows: list[dict[str, Any]] = []
        self.check_ran()
        for name in self.stacks if stack is None else [stack]:
            place = self._place(name)
            for layer in sorted(self._runs[place]):
                run = self._run(layer, name, text)
                rows += [
                    {"stack": name, "layer": layer, "head": head, **scores}
                    for head, scores in enumerate(scores_of(run))
                ]
        return table_of(rows)

    # --- images ----------------------------------------------------------------------------------

    def image_map(
        self, layer: int, head: int, token: int | str = -1, image: int = 0, *,
        stack: str | None = None, text: int = -1, sequence: int = 0,
    ) -> np.ndarray:  # fmt: skip
        """Returns the weights of one query on the patches of an image, [rows, columns] of float32;
        NaN for cells without a token.

        ``token`` is the index of a query, counted without padding; -1 is the last. With a tokenizer
        it may be a word of the text, and stands for the last token of its last occurrence.
        ``image`` is the index of an image, tile or frame of the sequence. ``stack`` may be left out
        if exactly one stack has images; for a model that reads text, only the stacks of its text
        count. Frames of sound are a grid of one row.

        Raises
        ------
        LookupError
            if heed knows of no images in the stack, or the layer, head, token or image does not
            exist
        """
        run = self._with_images("image_map", layer, stack, text, sequence)
        query = self._query(token, run)
        return image_map(run, head, query, image)[0]

    def image_share(self, stack: str | None = None, *, text: int = -1, sequence: int = 0) -> Any:
        """Returns one row per head: the weight on patches (``image``) and on all other tokens
        (``text``), and the ``spread`` over the patches, from near 0 (one patch) to 1 (even).

        The numbers are means over the queries that see a patch and are not patches themselves, or
        over all queries if all are patches. The spread is the exponential of the entropy over the
        patches, divided by the number of visible patches.
        """
        stack = self._stack_with_images("image_share", stack)
        rows = []
        for layer in sorted(self._runs[self._place(stack)]):
            run = self._with_images("image_share", layer, stack, text, sequence)
            rows += [{"layer": layer, "head": at, **of} for at, of in enumerate(shares_of(run))]
        return table_of(rows)

    def pictures(
        self, stack: str | None = None, *, text: int = -1, sequence: int = 0
    ) -> list[np.ndarray | None]:
        """Returns the images of a sequence, [H, W, 3] or [H, W] of uint8, from the pixels that the
        model got, in the order of ``image=`` of the other methods. Without a processor, which knows
        the normalisation, the darkest pixel becomes black and the lightest white. Sound waves give
        None."""
        stack = self._stack_with_images("pictures", stack)
        run = self._with_images("pictures", self._first(stack), stack, text, sequence)
        return [each.picture if each.picture is None else each.picture.numpy()
                for each in run.images if each.of_keys]  # fmt: skip

    def plot_image_map(
        self, layer: int, head: int, token: int | str = -1, image: int = 0, ax: Any = None, *,
        stack: str | None = None, text: int = -1, sequence: int = 0, **settings: Any,
    ) -> Any:  # fmt: skip
        """Draws :meth:`image_map` over its image with matplotlib; ``settings`` go to ``ax.imshow``.
        Returns ``ax``."""
        run = self._with_images("image_map", layer, stack, text, sequence)
        cells, grid = image_map(run, head, self._query(token, run), image)
        picture = None if grid.picture is None else grid.picture.numpy()
        return draw_image_map(cells, picture, f"L{layer}.H{head}", ax, settings)

    def _query(self, token: int | str, run: Run) -> int:
        """Returns the index of a word's last token; ``run`` has one sequence."""
        if not isinstance(token, str):
            return token
        check_words("image_map", "token", token, self._tokenizer, "watch")
        if run.ids is None:
            raise refused("image_map", "token", repr(token),
                          "a position: the queries are not words")  # fmt: skip
        ids = run.ids[0, run.rows.start : run.rows.stop].tolist()
        return word_places("image_map", "token", token, pieces(self._tokenizer, ids))[-1]

    def _stack_with_images(self, op: str, stack: str | None) -> str:
        """Returns the named stack, or the only one with images; if a stack reads text, only such
        stacks count."""
        if stack is not None:
            self._place(stack)
            return stack
        self.check_ran()
        last = {name: next(iter(self._runs[place].values()))[-1]
                for name, place in self._places().items()}  # fmt: skip
        reading = {name: run for name, run in last.items() if run.ids is not None} or last
        found = [name for name, run in reading.items() if any(call.images for call in run.calls)]
        if not found:
            raise self._no_images(op, f"a run of {self._model}", last)
        if len(found) > 1:
            self._place(None)  # says which there are
        return found[0]

    def _with_images(
        self, op: str, layer: int, stack: str | None, text: int, sequence: int
    ) -> Run:
        stack = self._stack_with_images(op, stack)
        run = self._one(sequence, layer, stack, text, op)
        if not any(each.of_keys for each in run.images):
            raise self._no_images(op, f'layer {layer} of the stack "{stack}"', {})
        return run

    def _no_images(self, op: str, where: str, last: dict[str, Run]) -> Exception:
        others = [name for name, run in last.items() if any(call.images for call in run.calls)]
        return made(
            NotFound, op=op, found=f"heed knows of no images in {where}",
            expected="a model that docs/python.md names under images, and an input with images",
            hint=f'stack="{others[0]}" has some' if others else "",
        )  # fmt: skip

    def look(
        self, sequence: int = 0, stack: str | None = None, text: int = -1,
        layer: int | None = None, *, image: Any = None,
    ) -> Any:  # fmt: skip
        """Returns a :class:`heed.Session` of one sequence of the batch, which a notebook shows as
        the page. It has one stack, or all three if an encoder and a decoder ran and ``stack`` is
        None; and all layers, or one.

        Images are shown where their patches are. ``image`` has the pictures to show, one or a list,
        in the forms of :class:`heed.ImagePatches`; by default those of :meth:`pictures`.
        """
        from .._session import Session

        if stack is None and {"encoder", "decoder", "cross"} <= self.stacks.keys():
            names = {"encoder": "encoder", "decoder": "decoder", "cross": "cross"}
        else:
            names = {"cross" if stack == "cross" else "self": stack}
        seen = {name: self._layers(sequence, of, text, layer) for name, of in names.items()}
        tokens = self._words(sequence, names.get("decoder", stack), text, layer)
        of_keys = self._words(sequence, "encoder", text, layer) if "encoder" in names else None
        if "encoder" in names and of_keys is None:
            (keys,) = {each.shape[2] for each in seen["encoder"] if each is not None}
            of_keys = [f" #{at}" for at in range(keys)]
        first = names.get("cross", stack)
        run = self._one(sequence, self._first(first) if layer is None else layer, first, text)
        return Session.from_seen(
            seen, tokens=tokens, key_tokens=of_keys, name=self._model,
            images=patches_of(run.images, image),
        )  # fmt: skip

    def save(self, path: Path) -> None:
        """Writes everything that was recorded, except the tokenizer, to a safetensors file."""
        runs = [
            (place, layer, [run.calls for run in runs])
            for place, layers in self._runs.items()
            for layer, runs in layers.items()
        ]
        state = {"model": self._model, "silent": self.silent, "runs": runs, "logits": self._logits}
        write(state, path)

    @classmethod
    def load(cls, path: Path, tokenizer: Any = None) -> SeenModel:
        """Reads a file of :meth:`save` onto the CPU. No code from the file runs."""
        state = read(path)
        seen = cls(state["model"], tokenizer)
        seen.silent = state["silent"]
        seen._logits = state.get("logits", [])  # older files have none
        for place, layer, runs in state["runs"]:
            seen._runs.setdefault(place, {})[layer] = [Run.of(calls) for calls in runs]
        return seen

    @property
    def nbytes(self) -> int:
        """The bytes of the recorded tensors: q, k, v, the output or log-sum-exp, the last
        logits."""
        layers = (runs for layers in self._runs.values() for runs in layers.values())
        return sum(run.nbytes for runs in layers for run in runs) + sum(
            each.numel() * each.element_size() for each in self._logits
        )

    def __repr__(self) -> str:
        stacks = ", ".join(
            f"{len(layers)} {name} {'layer' if len(layers) == 1 else 'layers'}"
            for name, layers in self.stacks.items()
        )
        silent = f", {len(self.silent)} layers not seen" if self.silent else ""
        return f"<heed.transformers.SeenModel of {self._model}: {stacks or 'nothing ran'}{silent}>"

    def _layers(
        self, sequence: int, stack: str | None, text: int, layer: int | None
    ) -> list[Seen | None]:
        """By the model's numbers; None where a layer has no attention."""
        layers = sorted(self._runs[self._place(stack)]) if layer is None else [layer]
        found = {each: self._one(sequence, each, stack, text).without_padding for each in layers}
        shapes = {each.shape[1:] for each in found.values()}
        if len(shapes) > 1:
            sizes = " and ".join(str(list(each)) for each in sorted(shapes))
            raise made(
                InvalidArgument, op="look", argument="layer", found=f"None, and layers of {sizes}",
                expected=f"one of {', '.join(map(str, layers))}: a page has layers of one shape",
            )  # fmt: skip
        return [found.get(each) for each in range(max(layers) + 1)]

    def _one(
        self, sequence: int, layer: int, stack: str | None, text: int, op: str = "look"
    ) -> Run:
        run = self._run(layer, stack, text)
        batch = run.first.k.shape[0]
        if not -batch <= sequence < batch:
            expected = f"{-batch} to {batch - 1}" if batch > 1 else "0, the only one of the batch"
            raise out_of_range(op, "sequence", sequence, expected)
        return run.of_one(sequence % batch)

    def _words(
        self, sequence: int, stack: str | None, text: int, layer: int | None
    ) -> list[Any] | None:
        """Returns the tokens of one sequence, without padding."""
        layer = self._first(stack) if layer is None else layer
        run = self._one(sequence, layer, stack, text)
        ids = self._run(layer, stack, text).ids
        if ids is None or ids.shape[0] != self._run(layer, stack, text).first.k.shape[0]:
            return marked(run)
        of_one = ids.tolist()[sequence][run.rows.start : run.rows.stop]
        if self._tokenizer is None:
            return [f" {id}" for id in of_one]  # apart, as words are
        return pieces(self._tokenizer, of_one)

    def _first(self, stack: str | None) -> int:
        return min(self._runs[self._place(stack)])

    def places(self, stack: str | None, layers: Any = None) -> list[tuple[int, int]]:
        """Returns every (layer, head) of a stack."""
        known = self._runs[self._place(stack)]
        chosen = sorted(known) if layers is None else list(layers)
        counts = [(layer, self._run(layer, stack, -1).first.q.shape[1]) for layer in chosen]
        return [(layer, head) for layer, count in counts for head in range(count)]

    def run_at(self, path: str, layer: int | None, text: int) -> Run:
        """Returns the run of one layer of the stack with a path; of its first layer if ``layer`` is
        None."""
        named = {place.path: name for name, place in self._places().items()}
        if path not in named:
            raise made(
                NotFound, op="seen", argument="stack", found=f"a run of {self._model}",
                expected=f"a run with layers {path}",
            )  # fmt: skip
        first = self.stacks[named[path]][0]
        return self._run(first if layer is None else layer, named[path], text)

    # --- recording -------------------------------------------------------------------------------

    def _add(self, place: Place, layer: int, call: Call) -> Run:
        runs = self._runs.setdefault(place, {}).setdefault(layer, [])
        if runs and runs[-1].is_continued_by(call):
            runs[-1].add(call)
        else:
            runs.append(Run(call))
        return runs[-1]

    def _add_logits(self, logits: Tensor, *, goes_on: bool) -> None:
        """Appends a text's logits, or replaces the last ones if that text is continued."""
        if goes_on and self._logits:
            self._logits.pop()
        self._logits.append(logits)

    def _places(self) -> dict[str, Place]:
        return names_of(list(self._runs))

    def check_ran(self) -> None:
        if not self._runs:
            raise made(
                InvalidArgument, op="seen", argument="model",
                found=f"a {self._model} that did not run",
                expected="a forward pass inside of `with heed.transformers.watch(model)`",
            )  # fmt: skip

    def _place(self, stack: str | None) -> Place:
        self.check_ran()
        places = self._places()
        if stack is None and len(places) == 1:
            return next(iter(places.values()))
        if stack in places:
            return places[stack]
        names = [f'"{name}"' for name in places]
        if stack is not None:
            raise made(NotFound, op="seen", argument="stack", found=f'"{stack}"',
                       expected="one of " + ", ".join(names))  # fmt: skip
        usual = "decoder" if "decoder" in places else next(iter(places))
        known = f"{', '.join(names[:-1])} and {names[-1]}"
        raise made(NotFound, op="seen",
                   found=f'this model has the stacks {known}: pass stack="{usual}"')  # fmt: skip

    def _run(self, layer: int, stack: str | None, text: int) -> Run:
        layers = self._runs[self._place(stack)]
        if layer == -1:
            layer = max(layers)
        if layer not in layers:
            known = ", ".join(map(str, sorted(layers)))
            raise out_of_range("seen", "layer", layer, f"one of {known}")
        runs = layers[layer]
        return runs[index_of("seen", "text", text, len(runs))]
