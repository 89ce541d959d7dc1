// The parts of the page that need no browser: numbers, words, scales, what folds.
import assert from 'node:assert/strict';
import {readFileSync, readdirSync} from 'node:fs';
import {join, normalize, relative} from 'node:path';
import {test} from 'node:test';
import {load, source} from './load.mjs';


const format = await load('drawing/format');
const tokens = await load('text/tokens');
const scale = await load('panels/matrix_scale');
const column = await load('panels/key_column');
const choice = await load('panels/edge_choice');
const graphemes = await load('text/graphemes');
const colour = await load('drawing/colour');
const lines = await load('shell/text_lines');
const recent = await load('transport/recent');
const {Requests} = await load('transport/requests');
const fold = (begin, end) => ({kind: 'fold', begin, end});
const key = (index) => ({kind: 'key', key: index});
const token = (text, more = {}) => ({index: 0, id: 0, text, begin: 0, end: 1, ...more});

for (const [value, text] of [[0.172, '.172'], [1, '1.00'], [0, '0'], [0.0004, '<.001'], [0.0006, '.001'], [0.9999, '1.00']]) {
  test(`the weight ${value} is written ${text}`, () => assert.equal(format.weight(value), text));
}

test('an answer that is an error is none, even after status 200', async () => {
  const {bodyOf} = await load('transport/ask');
  const said = (body) => bodyOf(new Response(JSON.stringify(body)));
  assert.deepEqual(await said({weight: 1, error: null}), {weight: 1, error: null});
  await assert.rejects(said({error: {code: 'bad_request', message: 'its parts are not reported'}}),
    ({code, message}) => code === 'bad_request' && message === 'its parts are not reported');
});

test('what is written from right to left keeps its place among numbers', async () => {
  const {isolated} = await load('text/tokens');
  assert.equal(isolated('\u0645'), '\u2068\u0645\u2069');
  assert.equal(isolated('mom'), 'mom');
});

test('special tokens stand apart in a phrase', async () => {
  const {gapBefore, phrase} = await load('text/tokens');
  const token = (text, special) => ({index: 0, text, ...special && {special}});
  assert.equal(phrase([token('arrow'), token('[SEP]', true), token('fruit'), token(' flies')], 0, 4), 'arrow [SEP] fruit flies');
  const pair = [token('[CLS]', true), token('an'), token(' arrow'), token('[SEP]', true), token('fruit')];
  assert.deepEqual(pair.map((_, at) => gapBefore(pair, at)), ['', ' ', ' ', ' ', ' ']);
  assert.equal(gapBefore(pair, 5), '');
});

test('a logarithmic axis ends where it is told to', async () => {
  const {logAxis, roundStep} = await load('drawing/axis');
  const x = logAxis([0.001, 1], [10, 40]);
  assert.deepEqual([0.001, 0.01, 0.1, 1, 5, 0].map((value) => Math.round(x(value))), [10, 20, 30, 40, 40, 10]);
  assert.deepEqual([0.03, 1, 1.1, 4, 6, 40].map(roundStep), [0.05, 1, 2, 5, 10, 50]);
});

test('the rest of a difference is counted, since its weights sum to nothing', async () => {
  const {restText} = await load('panels/edge_choice');
  const choice = {rows: [], each: 2, drawn: 44, all: 253, rest: 0.57};
  assert.equal(restText(choice, false), 'not drawn: .570 on average');
  assert.equal(restText(choice, true), 'not drawn: 209 smaller ones');
});

test('the large number keeps its zero', () => assert.equal(format.largeWeight(0.172), '0.172'));
test('a minus is a minus sign, and zero has none', () => {
  assert.equal(format.distance(-1.25), '\u22121.3 back');
  assert.equal(format.distance(-0.01), '0.0 back');
});
test('a cell below half a hundredth is empty', () => {
  assert.equal(format.hundredths(0.0049), '');
  assert.equal(format.hundredths(0.172), '17');
});

test('a score is written as its chip shows it', () => {
  assert.equal(format.score('previous', 'prev', 0.434), 'prev .43');
  assert.equal(format.score('distance', 'back', 48.62), '48.6 back');
  assert.equal(format.score('entropy', 'entropy', 0.997), 'entropy 1.00');
});

test('a text is mostly bytes where more than half of its tokens are no characters', () => {
  const made = (...bytes) => bytes.map((each) => token('x', each ? {bytes: 'e3'} : {}));
  assert.equal(tokens.areMostlyBytes(made(true, true, false)), true);
  assert.equal(tokens.areMostlyBytes(made(true, false)), false);
  assert.equal(tokens.areMostlyBytes(made(false)), false);
});
test('one space before a token stands outside its mark', () => {
  assert.deepEqual(tokens.shown(token(' cat')), {gap: true, pieces: [{text: 'cat', hex: false}], breaks: 0});
  assert.equal(tokens.plain(token('  cat')), '\u00b7cat');
  assert.equal(tokens.plain(token(' ')), '\u00b7');
});
test('a line end is shown and breaks', () => {
  assert.deepEqual(tokens.shown(token('.\n')), {gap: false, pieces: [{text: '.\u23ce', hex: false}], breaks: 1});
});
test('bytes that are no text, and marks that would turn a text round, are hex', () => {
  assert.deepEqual(tokens.shown(token('<0xE3>', {bytes: 'e3'})).pieces, [{text: 'E3', hex: true}]);
  assert.deepEqual(tokens.shown(token('<0xE3>')).pieces, [{text: '<0xE3>', hex: false}]);
  assert.deepEqual(tokens.shown(token('\u202e')).pieces, [{text: 'U+202E', hex: true}]);
});
test('units are told by their first tokens', () => {
  assert.deepEqual(tokens.unitsFrom([0, 2, 3], 5),
    {starts: [0, 2, 3], begins: [0, 0, 2, 3, 3], ends: [2, 2, 3, 5, 5], order: [0, 0, 1, 2, 2]});
});
test('the bytes of a character are grouped under it', () => {
  const bytes = (...all) => all.map((each, index) => token(each === 'a' ? 'a' : `<0x${each}>`, {index, ...each !== 'a' && {bytes: each.toLowerCase()}}));
  const made = bytes('a', 'E6', '97', 'A5', 'a');
  tokens.joinBytes(made, [0, 1, 4]);
  assert.deepEqual(tokens.shown(made[1]).pieces, [{text: '\u65e5', hex: false}, {text: 'E6', hex: true}]);
  assert.deepEqual(tokens.shown(made[2]).pieces, [{text: '97', hex: true}]);
  assert.deepEqual(made.map(tokens.plain), ['a', '\u65e5 E6', '\u65e5 97', '\u65e5 A5', 'a']);
  assert.deepEqual(made.map((each) => tokens.whole(each).pieces.map(({text}) => text).join('')), ['a', '\u65e5', '', '', 'a']);
  assert.equal(tokens.phrase(made, 0, 5), 'a\u65e5a');
  assert.equal(tokens.phrase(made, 0, 2), 'a\u65e5 E6');
});

test('a byte of a tile gives its weight within half a step', () => {
  for (const weight of [1, 0.5, 0.172, 1e-3, 2 ** -23]) {
    const byte = 2 + Math.round(253 * (1 + Math.log2(weight) / 24));
    assert.ok(Math.abs(Math.log2(scale.weightOf(byte) / weight)) <= 12 / 253 + 1e-9);
  }
});
test('the logarithmic scale goes from 0.001 to 1', () => {
  assert.equal(scale.position(0.001, 'log'), 0);
  assert.equal(scale.position(1, 'log'), 1);
  assert.ok(Math.abs(scale.position(0.1, 'log') - 2 / 3) < 1e-12);
});
test('a masked cell has no colour, the least weight has one', () => {
  for (const isB of [false, true]) {
    const colours = scale.table('log', new Uint32Array(256), scale.rampOf({isB}));
    assert.equal(colours[0], 0);
    assert.equal(colours[1] >>> 24, 255);
  }
});
test('ranks are the share of cells below', () => {
  const histogram = new Uint32Array(256);
  histogram.set([9, 2, 2], 0);  // masked ones do not count
  assert.deepEqual([...scale.ranks(histogram).slice(1, 3)], [0.25, 0.75]);
});

test('a difference below .01 is pale on every scale, however small the others are, and stays apart from none', () => {
  const grey = [236, 236, 232];
  const histogram = new Uint32Array(256);
  for (const difference of [0, 0.004, -0.009]) histogram[scale.differenceCode(difference)] = 10;
  for (const name of ['linear', 'sqrt', 'log', 'rank']) {
    const colours = new Uint8Array(scale.differenceTable(name, histogram).buffer);
    for (const difference of [0.004, -0.009]) {
      const at = 4 * scale.differenceCode(difference);
      grey.forEach((value, channel) => assert.ok(Math.abs(colours[at + channel] - value) < 0.16 * 236, `${name} ${difference}`));
    }
  }
  assert.ok(scale.differencePosition(0.004) > 0 && scale.differencePosition(-0.004) < 0);
  assert.equal(scale.differencePosition(1), 1);
});
test('cividis runs from dark to light', () => {
  assert.deepEqual(colour.cividis(0), [0, 32, 81]);
  assert.equal(colour.numberColour(colour.cividis(0)), '#fff');
  assert.equal(colour.numberColour(colour.cividis(1)), '#16181d');
});

const shownOf = (...texts) => texts.map((text) => tokens.shown(token(text)));
const linesOf = (texts, room) => lines.breakLines(shownOf(...texts), texts.map((text) => text.trim().length), 1, room)
  .map(({begin, end}) => texts.slice(begin, end).join(''));
test('a line ends before a word that does not fit, and never inside one that would', () => {
  assert.deepEqual(linesOf(['One', ' did', 'n', ' know'], 8), ['One didn', ' know']);
  assert.deepEqual(linesOf(['One', ' did', 'n', ' know'], 7), ['One', ' didn', ' know']);
});
test('a word longer than a line is cut between tokens', () => {
  assert.deepEqual(linesOf(['a', ' abcd', 'efgh', 'ij'], 6), ['a', ' abcd', 'efghij']);
  assert.deepEqual(linesOf(['abcdefgh'], 4), ['abcdefgh']);
});
test('a token with a line end ends its line', () => {
  assert.deepEqual(linesOf(['a', '.\n', 'b'], 50), ['a.\n', 'b']);
});
test('scripts without spaces break between characters, not before what closes', () => {
  assert.deepEqual(linesOf(['\u65e5\u672c', '\u8a9e', '\u3002', '\u8a9e'], 3), ['\u65e5\u672c', '\u8a9e\u3002\u8a9e']);
});
test('lines hold every token once, in order', () => {
  const texts = Array.from({length: 300}, (_, index) => (index % 3 ? ' ' : '') + 'x'.repeat(1 + index * 7 % 11));
  for (const room of [1, 7, 30, 1000]) assert.equal(linesOf(texts, room).join(''), texts.join(''));
});

const answerOf = (asked) => (signal) => new Promise((resolve, reject) => {
  asked.push({resolve, signal});
  signal.addEventListener('abort', () => reject(new DOMException('', 'AbortError')));
});
test('a newer question in a lane ends the older one', async () => {
  const kept = new recent.Recent(10, new Requests({}));
  const asked = [];
  const first = kept.get('a', 'text', answerOf(asked));
  const second = kept.get('b', 'text', answerOf(asked));
  await assert.rejects(first, {name: 'AbortError'});
  asked[1].resolve(5);
  assert.equal(await second, 5);
  assert.equal(kept.now('b'), 5);
});
test('what another lane waits for goes on', async () => {
  const kept = new recent.Recent(10, new Requests({}));
  const asked = [];
  const shared = kept.get('a', 'text', answerOf(asked));
  assert.equal(kept.get('a', 'edges', answerOf(asked)), shared);
  void kept.get('b', 'text', answerOf(asked));
  assert.ok(!asked[0].signal.aborted);
  asked[0].resolve(1);
  assert.equal(await shared, 1);
});
test('answers are bounded in number, and one that failed is asked again', async () => {
  const kept = new recent.Recent(2, new Requests({}));
  for (const name of ['a', 'b', 'c']) await kept.get(name, name, () => Promise.resolve(name));
  assert.deepEqual(['a', 'b', 'c'].map((name) => kept.now(name)), [undefined, 'b', 'c']);
  await assert.rejects(kept.get('d', 'd', () => Promise.reject(new Error('no'))));
  assert.equal(await kept.get('d', 'd', () => Promise.resolve('yes')), 'yes');
});

test('keys without an edge fold, and unfold', () => {
  const keys = [3, 2];
  const folded = column.entriesOf(keys, {first: 0, end: 6}, new Map());
  assert.deepEqual(folded, [fold(0, 2), key(2), key(3), fold(4, 6)]);
  assert.equal(column.entryIndex(folded, 5), 3);
  assert.deepEqual(column.entriesOf(keys, {first: 0, end: 6}, new Map([[0, 100]])).slice(0, 3), [key(0), key(1), key(2)]);
  assert.deepEqual(column.entriesOf(keys, {first: 2, end: 4}, new Map()), [key(2), key(3)]);
});
test('where keys of several heads find no room the lightest fold, the pinned one never', () => {
  const line = (...edges) => ({weights: [], edges: edges.map(([key, weight]) => ({query: 9, key, weight}))});
  const lines = [line([1, 0.5], [5, 0.1]), line([3, 0.2], [5, 0.4], [7, 0.01])];
  assert.deepEqual(column.heaviestFirst(lines, false, 7), [7, 1, 5, 3]);
  assert.deepEqual(column.heaviestFirst(lines, true, null), [9]);
  const none = new Map();
  assert.deepEqual(column.fitting([7, 1, 5, 3], {first: 0, end: 9}, 5, none), [fold(0, 1), key(1), fold(2, 7), key(7), fold(8, 9)]);
  assert.equal(column.fitting([7, 1, 5, 3], {first: 0, end: 9}, 9, none).filter(({kind}) => kind === 'key').length, 4);
});
test('a long fold opens a hundred tokens at a time', () => {
  const opened = column.entriesOf([450], {first: 0, end: 451}, new Map([[0, 100], [100, 200]]));
  assert.deepEqual(opened.slice(199, 202), [key(199), fold(200, 450), key(450)]);
});
test('a part of a fold opens in its place', () => {
  assert.deepEqual(column.entriesOf([9], {first: 0, end: 10}, new Map([[4, 6]])), [fold(0, 4), key(4), key(5), fold(6, 9), key(9)]);
});
test('a long fold stands in parts where there are rows for them', () => {
  const entries = [fold(0, 64), key(64), fold(65, 69), key(69)];
  assert.deepEqual(column.divided(entries, 6), [fold(0, 16), fold(16, 32), fold(32, 64), key(64), fold(65, 69), key(69)]);
  assert.deepEqual(column.divided([fold(0, 7), key(7)], 9), [fold(0, 2), fold(2, 4), fold(4, 7), key(7)]);
});
test('with nothing pinned the key that takes most of most rows is a sink', async () => {
  const {largestOfRows} = await load('panels/edge_choice');
  const rows = (...weights) => weights.map((weight, query) => ({query, edges: [{query, key: 0, weight}, {query, key: query, weight: 0.2}], rest: {count: 0, weight: 0}}));
  assert.equal(largestOfRows(rows(0.9, 0.8, 0.7, 0.9, 0.3)).sink, 0);
  assert.equal(largestOfRows(rows(0.1, 0.15, 0.25, 0.9, 0.1)).sink, null);
});
test('the rest tells what is not listed', () => {
  const listed = [key(0)];
  assert.equal(column.rest([0.5, 0.3, 0.2, null], listed), '+ .500 in 2 others');
  assert.equal(column.rest([0.5, null], listed), 'every key shown');
});

test('one other is one, and none are said', () => {
  assert.equal(column.left({count: 1, weight: 0.076}), '+ .076 in 1 other');
  assert.equal(column.left({count: 1234, weight: 0.31}), '+ .310 in 1,234 others');
  assert.equal(column.left({count: 0, weight: 0}), 'every key shown');
});

test('with nothing pinned more of a row are chosen where there are fewer rows', () => {
  const row = (query) => ({query, edges: [0.1, 0.4, 0.2].map((weight, key) => ({query, key, weight})), rest: {count: 7, weight: 0.3}});
  const rows = (count) => Array.from({length: count}, (_, query) => row(query));
  const few = choice.largestOfRows(rows(2));
  assert.equal(choice.choiceText(few), '8 largest per row, 6 of 20 weights');
  assert.equal(choice.choiceText(few, true), '8 per row');
  assert.equal(choice.restText(few), 'not drawn: .300 on average');
  const many = choice.largestOfRows(rows(30));
  assert.deepEqual(many.rows[4].edges.map(({key}) => key), [1]);
  assert.equal(choice.choiceText(many), 'the largest per row, 30 of 300 weights');
  assert.equal(choice.restText(many), 'not drawn: .600 on average');
  assert.equal(choice.choiceText(choice.largestOfRows([])), '');
});

test('a text is cut between characters as readers see them', () => {
  const family = '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}';
  assert.equal(graphemes.graphemes(`e\u0301${family}`).length, 2);
  assert.equal(graphemes.shortened(`a${family}b`, (each) => each.length < 6), 'a\u2026');
});

/** What imports itself by way of others, types alone included; `imports` are names by name. */
function circles(imports) {
  const found = [];
  const done = new Set();
  const follow = (name, way) => {
    if (way.includes(name)) found.push([...way.slice(way.indexOf(name)), name].join(' > '));
    if (way.includes(name) || done.has(name)) return;
    for (const next of imports.get(name) ?? []) follow(next, [...way, name]);
    done.add(name);
  };
  for (const name of imports.keys()) follow(name, []);
  return found;
}

test('no file of the page imports itself by way of others', () => {
  assert.deepEqual(circles(new Map([['a', ['b', 'c']], ['b', ['c']], ['c', ['d']], ['d', ['b']]])), ['b > c > d > b']);
  const files = readdirSync(source, {recursive: true, withFileTypes: true}).filter(({name}) => name.endsWith('.ts'));
  const imports = new Map(files.map(({name, path, parentPath = path}) => {
    const text = readFileSync(join(parentPath, name), 'utf8');
    const names = [...text.matchAll(/^(?:import|export)\b[^;]*?\bfrom '(\.[^']*)';/gm)].map(([, each]) => normalize(join(parentPath, each)));
    return [relative(source, join(parentPath, name)).replace(/\.ts$/, ''), names.map((each) => relative(source, each))];
  }));
  assert.ok(imports.get('main').includes('mount') && imports.get('shell/text').includes('shell/text_view'));
  assert.ok([...imports.values()].flat().every((each) => imports.has(each)));
  assert.deepEqual(circles(imports), []);
});
