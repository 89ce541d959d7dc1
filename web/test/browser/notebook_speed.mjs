// How quick a live page in a notebook is with a long text:
// HEED_PROGRAM=build/release/heed HEED_JUPYTER_PYTHON=... node test/browser/notebook_speed.mjs [TOKENS]
// The model has the shape of GPT-2 small, with random weights. HEED_KEEP_PICTURES: a folder for pictures of it.
import {join} from 'node:path';
import {openNotebook} from './jupyter.mjs';
import {report, reportFrames, watch} from './measuring.mjs';

const kTurns = 20;
const kMoves = 120;
const tokens = Number(process.argv[2] ?? 4096);

const kModel = `
import json, pathlib, shutil, struct, tempfile, time
import heed, numpy as np
tokens, width, layers, heads = ${tokens}, 768, 12, 12
folder = pathlib.Path(tempfile.mkdtemp()) / "gpt2-shaped"
folder.mkdir()
shutil.copy(heed.load().folder / "tokenizer.json", folder)
words = heed.load().info.vocabulary
(folder / "config.json").write_text(json.dumps(dict(model_type="gpt2", n_layer=layers, n_head=heads, n_embd=width,
                                                    n_positions=tokens, vocab_size=words)))
shapes = {"wte.weight": (words, width), "wpe.weight": (tokens, width), "ln_f.weight": (width,), "ln_f.bias": (width,)}
for layer in range(layers):
    for name, shape in {"attn.c_attn": (width, 3 * width), "attn.c_proj": (width, width), "mlp.c_fc": (width, 4 * width),
                        "mlp.c_proj": (4 * width, width)}.items():
        shapes[f"h.{layer}.{name}.weight"], shapes[f"h.{layer}.{name}.bias"] = shape, shape[1:]
    for norm in ("ln_1", "ln_2"):
        shapes[f"h.{layer}.{norm}.weight"] = shapes[f"h.{layer}.{norm}.bias"] = (width,)
rng, head, data, at = np.random.default_rng(1), {}, [], 0
for name, shape in shapes.items():
    size = 0.06 if "c_attn" in name else 0.02
    array = rng.normal(size=shape, scale=size).astype(np.float32) if len(shape) == 2 else np.full(shape, name.endswith("weight"), np.float32)
    head[name] = dict(dtype="F32", shape=list(shape), data_offsets=[at, at + array.nbytes])
    data.append(array.tobytes())
    at += array.nbytes
text = json.dumps(head).encode()
(folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data))
model = heed.load(folder)`;
const kLook = `
begun = time.perf_counter()
session = model.look("The king had a daughter, and he loved her. One day she saw a big red ball. " * 400, cut="first")
print(f"{len(session.tokens)} tokens, look {time.perf_counter() - begun:.1f} s")
begun = time.perf_counter()
_ = session.heads()
print(f"all heads {time.perf_counter() - begun:.1f} s")
begun = time.perf_counter()
html = session._repr_mimebundle_()["text/html"]
print(f"the cell's output {time.perf_counter() - begun:.1f} s, {len(html) / 1e6:.2f} MB")`;

const {page, stop} = await openNotebook('long.ipynb', [kModel, kLook, 'session'], {prepare: (opened) => opened.addInitScript(watch)});
const cell = page.locator('.jp-Cell').nth(2);
const live = cell.locator('.heed');
await live.locator('.next-row, .key').first().waitFor();
console.log((await page.locator('.jp-Cell').nth(1).locator('.jp-OutputArea-output').innerText()).trim());
await cell.evaluate((element) => element.scrollIntoView({block: 'start'}));
await live.locator('.check', {hasText: 'sums to 1'}).waitFor();
await page.waitForTimeout(3000);
if (process.env.HEED_KEEP_PICTURES) await page.screenshot({path: join(process.env.HEED_KEEP_PICTURES, 'notebook-long.png')});

// The text scrolls within the page, which also lies partly under the notebook's bars.
const inSight = () => live.locator('.token').evaluateAll((all) => all.slice(-120).map((each) => {
  const {x, y, width, height} = each.getBoundingClientRect();
  return {each, at: [x + width / 2, y + height / 2]};
}).filter(({each, at}) => each.contains(document.elementFromPoint(...at))).map(({at}) => at));

const places = await inSight();
page.setDefaultTimeout(20_000);
const hovers = [];
for (let turn = 0; turn < kTurns; ++turn) {
  await page.evaluate(() => { window.seen.answered = 0; });
  await page.mouse.move(...places[(7 * turn + 3) % places.length]);
  await page.waitForFunction(() => window.seen.answered > 0);
  hovers.push(await page.evaluate(() => window.seen.answered - window.seen.asked));
}
report('exact hover', hovers);
await reportFrames('pointer over tokens', page, async () => {
  for (let move = 0; move < kMoves; ++move) {
    await page.mouse.move(...places[(5 * move) % places.length]);
    await page.waitForTimeout(16);
  }
});

await page.mouse.click(...places.at(-1));
const switches = [];
for (let turn = 0; turn < kTurns; ++turn) {
  await page.evaluate(() => { window.seen.pixels = 0; });
  await page.keyboard.press(turn % 8 === 7 ? ']' : '.');
  await page.waitForFunction(() => window.seen.pixels > 0);
  switches.push(await page.evaluate(() => window.seen.pixels - window.seen.asked));
}
report('head switch to pixels', switches);

const prompt = await cell.locator('.jp-InputPrompt').boundingBox();
await page.mouse.move(prompt.x + 10, prompt.y + 10);
await reportFrames('scrolling the notebook', page, async () => {
  for (let move = 0; move < kMoves; ++move) {
    await page.mouse.wheel(0, move < kMoves / 2 ? 60 : -60);
    await page.waitForTimeout(16);
  }
});

await cell.evaluate((element) => element.scrollIntoView({block: 'start'}));
await live.locator('nav').getByText('Matrix', {exact: true}).first().click();
const canvas = live.locator('canvas.matrix');
await canvas.waitFor();
await page.waitForTimeout(3000);
if (process.env.HEED_KEEP_PICTURES) await page.screenshot({path: join(process.env.HEED_KEEP_PICTURES, 'notebook-long-matrix.png')});
const box = await canvas.boundingBox();
const middle = [box.x + box.width / 2, box.y + Math.min(box.height / 2, 300)];
await page.mouse.move(...middle);
await reportFrames('pointer over the matrix', page, async () => {
  for (let move = 0; move < kMoves; ++move) {
    await page.mouse.move(middle[0] - 100 + 2 * move, middle[1] - 50 + move);
    await page.waitForTimeout(16);
  }
});
await page.mouse.move(...middle);
await reportFrames('zooming the matrix', page, async () => {
  for (let move = 0; move < kMoves; ++move) {
    await page.mouse.wheel(0, move < kMoves / 2 ? -40 : 40);
    await page.waitForTimeout(16);
  }
});
await stop();
process.exit(0);
