import {openNotebook, home} from './jupyter.mjs';
import {writeFileSync, copyFileSync} from 'node:fs';
const cells = [
`import heed
import numpy as np
session = heed.look("The king had a daughter, and he loved her. One day she saw a big red ball.")
session`,
`session.row("her", 2, 3)`,
`import torch, transformers
import heed.transformers
config = transformers.GPT2Config(n_embd=64, n_layer=6, n_head=4, vocab_size=100, bos_token_id=0, eos_token_id=0)
model = transformers.GPT2LMHeadModel(config).eval()
ids = torch.arange(40)[None]
with heed.transformers.watch(model) as seen, torch.no_grad():
    output = model(ids)
seen.look()`,
`config = transformers.T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=100, decoder_start_token_id=0)
translator = transformers.T5ForConditionalGeneration(config).eval()
with heed.transformers.watch(translator) as seen2:
    written = translator.generate(ids, max_new_tokens=5, min_new_tokens=5)
seen2.look()`,
`layer = torch.nn.MultiheadAttention(64, 8, batch_first=True)
x = torch.randn(2, 10, 64)
import heed.torch
with heed.torch.use():
    y, _ = layer(x, x, x, need_weights=False)
y.sum().backward()
layer.in_proj_weight.grad.shape`,
`session.heads()`,
`heed.attention(np.ones((2,3)), 1, 2)`,
`q = np.random.default_rng(0).normal(size=(1,4,50,16)).astype(np.float32)
heed.Session.from_arrays(q, q, mask=heed.causal(), name="mine")`,
`session.row("nobody", 2, 3)`,
`print(heed.attention(q, q, q, seen=1))`,
`session.to_text(width=10)`,
`heed.load(None)`,
`model2 = heed.load(); model2.look("a b", logits="yes")`,
`_, s = heed.attention(q, q, q, seen=True); s.observe(("top_k", {"kk": 3}))`,
`s.observe("nothing")`,
`for token in model2.generate("Once upon a time", n=20, seed=1): print(token.text, end="")`,
`heed.load("tales2")`,
];
const {page, execute, stop} = await openNotebook('trial.ipynb', cells, {height: 1000});
const shot = async (name) => { await page.screenshot({path: `/tmp/trial15/${name}.png`}); };
const cell = (at) => page.locator('.jp-Cell').nth(at);
await cell(16).locator('.jp-OutputArea-output').first().waitFor({timeout: 200000}).catch((e) => console.log('no end', e.message));
await page.waitForTimeout(4000);
for (let at = 0; at < cells.length; ++at) {
  const c = cell(at);
  await c.evaluate((element) => element.scrollIntoView({block: 'start'}));
  await page.waitForTimeout(700);
  const text = await c.locator('.jp-OutputArea-output').allInnerTexts().catch(() => ['?']);
  console.log('=== ', at, cells[at].slice(0, 60).replaceAll('\n', ' | '));
  console.log(text.map((t) => t.length > 700 ? '...' + t.slice(-700) : t).join('\n--\n'));
  await shot(`cell${String(at).padStart(2, '0')}`);
}
const live = cell(0).locator('.heed');
await cell(0).evaluate((element) => element.scrollIntoView({block: 'start'}));
for (const view of ['Grid', 'Words', 'Heads', 'Flow', 'Why', 'Anatomy', 'Matrix', 'Look']) {
  const found = live.locator('nav').getByText(view, {exact: true}).first();
  if (await found.count() === 0 || !(await found.isVisible())) { console.log('no', view); continue; }
  await found.click();
  await page.waitForTimeout(2500);
  await shot(`view-${view}`);
}
await execute('docmanager:save');
await page.waitForTimeout(1500);
copyFileSync(`${home}/trial.ipynb`, '/tmp/trial15/trial.ipynb');
await stop();
process.exit(0);
