// Light or dark as the notebook around a page is.
import type {Theme} from '../stage';

/** JupyterLab says it of its body, as do VS Code, by a kind or a class, and Colab of its document. */
export function hostTheme({body, documentElement}: Document): Theme {
  const {jpThemeLight, vscodeThemeKind} = body.dataset;
  if (jpThemeLight !== undefined) return jpThemeLight === 'false' ? 'dark' : 'light';
  if (vscodeThemeKind !== undefined) return vscodeThemeKind.endsWith('light') ? 'light' : 'dark';
  if (body.classList.contains('vscode-light')) return 'light';
  if (body.classList.contains('vscode-dark')) return 'dark';
  const colab = documentElement.getAttribute('theme');
  return colab === 'dark' || colab === 'light' ? colab : 'system';
}

/** Tells each change until the result is called. */
export function followTheme(changed: (theme: Theme) => void): () => void {
  const observer = new MutationObserver(() => changed(hostTheme(document)));
  const attributeFilter = ['data-jp-theme-light', 'data-vscode-theme-kind', 'class', 'theme'];
  for (const element of [document.body, document.documentElement]) observer.observe(element, {attributes: true, attributeFilter});
  return () => observer.disconnect();
}
