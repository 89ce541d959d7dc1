// A small model whose numbers never change, for the tests: GPT-2's shape, weights from a fixed sequence.
// Its heads look back by a few tokens, at equal words, or at both, so that there is something to see.
import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';

export const kLayers = 3;
export const kHeads = 8;
const kHeadWidth = 8;
const kPlaceWidth = 16;  // of these many numbers a token's vector tells its position
const kBeginning = '<s>';

/** Numbers with mean 0 and variance 1, the same on every machine. */
function sequence(seed) {
  let state = seed;
  const uniform = () => {
    state = state + 0x6d2b79f5 | 0;
    let mixed = Math.imul(state ^ state >>> 15, 1 | state);
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed;
    return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32;
  };
  return () => {
    let sum = -6;
    for (let each = 0; each < 12; ++each) sum += uniform();
    return sum;
  };
}

const frequency = (pair) => 0.9 / 2.1 ** pair;

function tensors(vocabulary, positions, heads) {
  const width = heads * kHeadWidth;
  const inner = 2 * width;
  const found = new Map();
  const next = sequence(7);
  const add = (name, shape, value) => {
    const data = new Float32Array(shape.reduce((product, size) => product * size, 1));
    for (let at = 0; at < data.length; ++at) data[at] = value(Math.floor(at / shape.at(-1)), at % shape.at(-1));
    found.set(name, {shape, data});
  };
  add('wte.weight', [vocabulary, width], (_, x) => x < kPlaceWidth ? 0 : next());
  add('wpe.weight', [positions, width], (place, x) => x >= kPlaceWidth ? 0
    : 1.5 * (x % 2 ? Math.sin : Math.cos)(place * frequency(x >> 1)));
  for (let layer = 0; layer < kLayers; ++layer) {
    const block = `h.${layer}`;
    const random = Float32Array.from({length: width * width}, next);
    const one = (kind) => (row, x) => {
      const head = Math.floor(x / kHeadWidth);
      const lane = x % kHeadWidth;
      const byPlace = (head + layer) % 3 !== 1 ? 1.1 : 0.2;
      const byWord = (head + layer) % 3 !== 0 ? 0.36 : 0.05;
      if (row >= kPlaceWidth) return byWord * random[row * width + x];
      if (row >> 1 !== lane >> 1) return 0;
      const angle = kind === 'q' ? -(head + 1) / 2 * frequency(row >> 1) : 0;  // looks that far back
      const turn = [[Math.cos(angle), Math.sin(angle)], [-Math.sin(angle), Math.cos(angle)]];
      return byPlace * turn[row % 2][lane % 2];
    };
    const query = one('q');
    const key = one('k');
    add(`${block}.attn.c_attn.weight`, [width, 3 * width], (row, x) =>
      x < width ? query(row, x) : x < 2 * width ? key(row, x - width) : 0.12 * next());
    add(`${block}.attn.c_attn.bias`, [3 * width], () => 0);
    add(`${block}.attn.c_proj.weight`, [width, width], () => 0.12 * next());
    add(`${block}.mlp.c_fc.weight`, [width, inner], () => 0.15 * next());
    add(`${block}.mlp.c_fc.bias`, [inner], () => 0);
    add(`${block}.mlp.c_proj.weight`, [inner, width], () => 0.15 * next());
    for (const name of ['attn.c_proj', 'mlp.c_proj', 'ln_1', 'ln_2']) add(`${block}.${name}.bias`, [width], () => 0);
    for (const name of ['ln_1', 'ln_2']) add(`${block}.${name}.weight`, [width], () => 1);
  }
  add('ln_f.weight', [width], () => 0.12);
  add('ln_f.bias', [width], () => 0);
  return found;
}

function safetensors(found) {
  const header = {};
  let begin = 0;
  for (const [name, {shape, data}] of found) {
    header[`transformer.${name}`] = {dtype: 'F32', shape, data_offsets: [begin, begin + data.byteLength]};
    begin += data.byteLength;
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, ...[...found.values()].map(({data}) => Buffer.from(data.buffer))]);
}

/** The characters that stand for bytes in a byte-level vocabulary. */
function byteAlphabet() {
  const isPlain = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let spare = 256;
  return Array.from({length: 256}, (_, byte) => String.fromCodePoint(isPlain(byte) ? byte : spare++));
}

/** Merges that make each word of the text one token, but for its longest: these stay in two pieces. */
function mergesOf(text, alphabet) {
  const merges = new Set();
  const words = new Set(text.match(/ ?\p{L}+/gu));
  for (const word of words) {
    const letters = [...Buffer.from(word)].map((byte) => alphabet[byte]);
    let made = letters[0];
    for (const letter of letters.slice(1, word.trim().length > 6 ? 5 : undefined)) {
      merges.add(`${made} ${letter}`);
      made += letter;
    }
  }
  return [...merges];
}

function tokenizer(text) {
  const alphabet = byteAlphabet();
  const merges = mergesOf(text, alphabet);
  const pieces = [kBeginning, ...alphabet, ...merges.map((merge) => merge.replace(' ', ''))];
  const vocab = Object.fromEntries([...new Set(pieces)].map((piece, id) => [piece, id]));
  const bytes = {type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: true};
  const special = {id: 0, content: kBeginning, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true};
  const frame = {
    type: 'TemplateProcessing', pair: [],
    single: [{SpecialToken: {id: kBeginning, type_id: 0}}, {Sequence: {id: 'A', type_id: 0}}],
    special_tokens: {[kBeginning]: {id: kBeginning, ids: [0], tokens: [kBeginning]}},
  };
  return {
    version: '1.0', truncation: null, padding: null, added_tokens: [special], normalizer: null,
    pre_tokenizer: bytes, post_processor: frame, decoder: bytes,
    model: {type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null,
      fuse_unk: false, byte_fallback: false, ignore_merges: false, vocab, merges},
  };
}

/** Writes the model that knows the words of `text` into `folder`. */
export function writeModel(folder, text, positions = 512, heads = kHeads) {
  mkdirSync(folder, {recursive: true});
  const words = tokenizer(text);
  const vocabulary = Object.keys(words.model.vocab).length;
  const config = {
    model_type: 'gpt2', n_layer: kLayers, n_head: heads, n_embd: heads * kHeadWidth, n_inner: 2 * heads * kHeadWidth, n_positions: positions,
    vocab_size: vocabulary, activation_function: 'gelu_new', layer_norm_epsilon: 1e-5, tie_word_embeddings: true,
    bos_token_id: 0, eos_token_id: 0, torch_dtype: 'float32',
  };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(words));
  writeFileSync(join(folder, 'model.safetensors'), safetensors(tensors(vocabulary, positions, heads)));
}
