// Loads a file of the page with all that it imports.
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';

export const source = join(dirname(fileURLToPath(import.meta.url)), '../../src');

export async function load(name) {
  const {outputFiles} = await build({
    entryPoints: [join(source, `${name}.ts`)], bundle: true, format: 'esm', write: false, logLevel: 'error',
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}
