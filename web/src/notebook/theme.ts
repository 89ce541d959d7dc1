// Light or dark, like the document around the page.
import type {Theme} from '../shell/stage';

/** JupyterLab and VS Code mark their body with an attribute or class, Colab its document; for other hosts the background colour decides. */
export function hostTheme(host: Document): Theme {
  const {body, documentElement} = host;
  const {jpThemeLight, vscodeThemeKind} = body.dataset;
  if (jpThemeLight !== undefined) return jpThemeLight === 'false' ? 'dark' : 'light';
  if (vscodeThemeKind !== undefined) return vscodeThemeKind.endsWith('light') ? 'light' : 'dark';
  if (body.classList.contains('vscode-light')) return 'light';
  if (body.classList.contains('vscode-dark')) return 'dark';
  const colab = documentElement.getAttribute('theme');
  return colab === 'dark' || colab === 'light' ? colab : paintedTheme(host);
}

/** Determined by the page's background, which works for documentation with any theme. */
function paintedTheme(host: Document): Theme {
  const {body, documentElement, defaultView: view} = host;
  if (!view) return 'system';
  for (const element of [body, documentElement]) {
    const colour = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(view.getComputedStyle(element).backgroundColor);
    if (!colour) return 'system';  // in another colour space
    const [red, green, blue, alpha] = colour.slice(1).map((part = '1') => Number(part)) as [number, number, number, number];
    if (alpha > 0.5) return 0.299 * red + 0.587 * green + 0.114 * blue < 128 ? 'dark' : 'light';
  }
  const offered = host.querySelector<HTMLMetaElement>('meta[name=color-scheme]')?.content ?? '';  // the browser's default style sheet
  return `${offered} ${view.getComputedStyle(documentElement).colorScheme}`.includes('dark') ? 'system' : 'light';
}

/** Reports each change until the returned function is called. */
export function followTheme(changed: (theme: Theme) => void): () => void {
  let known = hostTheme(document);
  const look = () => {
    const theme = hostTheme(document);
    if (theme !== known) changed(known = theme);
  };
  const observer = new MutationObserver(look);
  for (const element of [document.body, document.documentElement]) observer.observe(element, {attributes: true});
  const system = matchMedia('(prefers-color-scheme: dark)');
  system.addEventListener('change', look);
  document.addEventListener('transitionend', look);  // for a background that fades
  return () => {
    observer.disconnect();
    system.removeEventListener('change', look);
    document.removeEventListener('transitionend', look);
  };
}
