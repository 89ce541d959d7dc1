// Bundles the page into dist/{index.html,app.js,app.css} and says how large it is.
import {build} from 'esbuild';
import {copyFileSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {gzipSync} from 'node:zlib';

const kLimitBytes = 140_000;  // gzipped, all files together
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
  entryPoints: {app: 'src/main.ts'},
  outdir: dist,
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
});
const script = join(dist, 'app.js');
writeFileSync(script, notices(metafile) + readFileSync(script, 'utf8'));
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

let total = 0;
for (const name of ['index.html', 'app.css', 'app.js']) {
  const bytes = gzipSync(readFileSync(join(dist, name)), {level: 9}).length;
  console.log(`${name.padEnd(10)} ${bytes} bytes gzipped`);
  total += bytes;
}
console.log(`${'total'.padEnd(10)} ${total} bytes gzipped`);
if (total > kLimitBytes) {
  console.error(`the page is ${total} bytes gzipped; at most ${kLimitBytes} are allowed`);
  process.exit(1);
}
