// An encoder that fills masks: beside a gap stands what the model puts there, beside a word what it puts in its place.
import {test} from 'node:test';
import {quiet, soon, token, withPages} from './harness.mjs';
import {tinyBert} from './tiny_bert.mjs';

const kText = 'time flies [MASK] an arrow';
const {state, blank} = withPages({text: kText, folder: tinyBert('masks', 'time flies like an arrow')});

async function sideOf(address) {
  const page = await blank();
  await page.goto(`${state.server.address}${address}`);
  await page.locator('.side .next-row').first().waitFor();
  await quiet(page);
  return page;
}

/** Without the sign that marks pieces. */
const words = async (page) => (await page.locator('.side .next-row .word').allTextContents()).map((each) => each.trim().replace(/^\u2011/, ''));

function answer(page, question) {
  return page.evaluate(async ([text, question]) => {
    const session = await (await fetch('/api/v1/sessions', {method: 'POST', body: JSON.stringify({text})})).json();
    const {stack} = session.attentions[0];
    return (await (await fetch(`/api/v1/sessions/${session.session}/${stack}/${question}`)).json()).words.map(({text}) => text.trim());
  }, [kText, question]);
}

test('beside [MASK] the words that may stand in the gap are listed', async () => {
  const page = await sideOf('#look/L1.H1/i=3');
  await soon.equal(() => page.locator('.side h2').first().textContent(), 'In the gap');
  const expected = await answer(page, 'next?position=3&top=5');
  await soon.deepEqual(() => words(page), expected);
  await token(page, 2).hover();
  await quiet(page);
  await soon.equal(() => page.locator('.side h2').first().textContent(), 'In the gap');  // as Why below it
  await soon.deepEqual(() => words(page), expected);
});

test('beside a word the words that may stand in its place are listed', async () => {
  const page = await sideOf('#look/L1.H1/i=2');
  await soon.equal(() => page.locator('.side h2').first().textContent(), 'In its place');
  const expected = await answer(page, 'next?position=2&top=5&mask=1');
  await soon.deepEqual(() => words(page), expected);
});

test('Flow names the word that may stand in the place of a token', async () => {
  const page = await blank();
  await page.goto(`${state.server.address}#flow/L0.H0/i=1`);
  await soon.match(() => page.locator('.flow-title').textContent(), /^into time 1; in its place: \S+ /);
});
