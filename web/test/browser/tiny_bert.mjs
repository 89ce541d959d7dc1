// The tiny BERT of the test data, with a tokenizer of a text's own words.
import {cpSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {scratch, shared} from './harness.mjs';

/** A folder of this name; without words the file's head has other names, so that the model has none. */
export function tinyBert(name, text, {hasWords = true} = {}) {
  const folder = join(scratch, name);
  cpSync(shared('models/tiny/bert'), folder, {recursive: true});
  writeTokenizer(folder, [...new Set(text.split(' '))]);
  if (hasWords) return folder;
  const file = join(folder, 'model.safetensors');
  const content = readFileSync(file).toString('latin1');
  writeFileSync(file, content.replaceAll('cls.predictions.', 'pooler.predictio'), 'latin1');
  return folder;
}

/** WordPiece over the words of a text, in a vocabulary of the model's size. */
function writeTokenizer(folder, words) {
  const specials = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];
  const pieces = [...specials, ...words, ...Array.from({length: 97}, (_, id) => `##${id}`)].slice(0, 97);
  const special = (content) => ({id: specials.indexOf(content), content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true});
  const of = (id, type) => ({SpecialToken: {id, type_id: type}});
  const text = (id, type) => ({Sequence: {id, type_id: type}});
  const token = (id) => ({id, ids: [specials.indexOf(id)], tokens: [id]});
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify({
    version: '1.0', truncation: null, padding: null, added_tokens: specials.map(special),
    normalizer: {type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true},
    pre_tokenizer: {type: 'BertPreTokenizer'},
    post_processor: {
      type: 'TemplateProcessing', single: [of('[CLS]', 0), text('A', 0), of('[SEP]', 0)],
      pair: [of('[CLS]', 0), text('A', 0), of('[SEP]', 0), text('B', 1), of('[SEP]', 1)],
      special_tokens: {'[CLS]': token('[CLS]'), '[SEP]': token('[SEP]')},
    },
    decoder: {type: 'WordPiece', prefix: '##', cleanup: true},
    model: {
      type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##', max_input_chars_per_word: 100,
      vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])),
    },
  }));
}
