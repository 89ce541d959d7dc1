// Bundles the page into dist/{index.html,app.js,app.css}, and for notebooks into dist/notebook.js beside app.css
// and dist/frames.js, which stands beside saved pages; and says how large it is.
import {build} from 'esbuild';
import {copyFileSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {gzipSync} from 'node:zlib';

const kLimitBytes = 160_000;  // gzipped, all files of a page together
const root = dirname(fileURLToPath(import.meta.url));
const dist = join(root, 'dist');

// The notices of the packages in the bundle, each text once: their licences ask for them in every
// copy, and a saved page is one.
function notices(metafile) {
  const packages = new Set(
    Object.keys(metafile.inputs).map((path) => /^node_modules\/([^/]+)\//.exec(path)?.[1]));
  packages.delete(undefined);
  const texts = new Map();
  for (const name of [...packages].sort()) {
    const text = readFileSync(join(root, 'node_modules', name, 'LICENSE'), 'utf8').trim();
    texts.set(text, [...(texts.get(text) ?? []), name]);
  }
  return [...texts].map(([text, names]) => `/*! ${names.join(', ')}\n${text} */\n`).join('');
}

mkdirSync(dist, {recursive: true});
const {metafile} = await build({
  absWorkingDir: root,
  entryPoints: {app: 'src/main.ts', notebook: 'src/notebook.ts'},
  outdir: dist,
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
  alias: Object.fromEntries(['d3-transition', 'd3-interpolate'].map((name) => [name, join(root, 'src/drawing/no_transitions.ts')])),
});
await build({
  absWorkingDir: root,
  entryPoints: {frames: 'src/notebook/frames.ts'},
  outdir: dist,
  bundle: true,
  minify: true,
  format: 'iife',  // a script that may stand in a document several times
  target: 'es2022',
  logLevel: 'warning',
});
for (const name of ['app.js', 'notebook.js']) {
  const script = join(dist, name);
  writeFileSync(script, notices(metafile) + readFileSync(script, 'utf8'));
}
await build({
  absWorkingDir: root,
  entryPoints: {app: 'app.css'},
  outdir: dist,
  bundle: true,
  minify: true,
  target: ['chrome111', 'firefox115', 'safari16.4'],  // without nested rules, which the source has
  logLevel: 'warning',
});
copyFileSync(join(root, 'index.html'), join(dist, 'index.html'));

const sizes = Object.fromEntries(['index.html', 'app.css', 'app.js', 'notebook.js', 'frames.js'].map((name) =>
  [name, gzipSync(readFileSync(join(dist, name)), {level: 9}).length]));
for (const [name, bytes] of Object.entries(sizes)) console.log(`${name.padEnd(11)} ${bytes} bytes gzipped`);
const totals = {
  page: sizes['index.html'] + sizes['app.css'] + sizes['app.js'], notebook: sizes['app.css'] + sizes['notebook.js'],
};
for (const [name, bytes] of Object.entries(totals)) {
  console.log(`${name.padEnd(11)} ${bytes} bytes gzipped in all`);
  if (bytes <= kLimitBytes) continue;
  console.error(`the ${name} is ${bytes} bytes gzipped; at most ${kLimitBytes} are allowed`);
  process.exit(1);
}
