// Runs the script of a report's page on a document of its own, and prints the page as text (gjs page_driver.js).
//
//   page_driver.js PAGE [input ID VALUE | click TEXT | print]...
//
// A line for each row of a table, its cells divided by " | "; a bar is "<CLASS STYLE>"; what is hidden in <details>
// is printed too. It has of a browser's interface what the page uses: anything else is an error.
'use strict';
const {GLib} = imports.gi;

// `print` also prints "opened for print: SUMMARY" for each table that is open on paper.
const BLOCKS = ['section', 'header', 'h1', 'h2', 'h3', 'p', 'pre', 'dl', 'table', 'tr', 'details', 'summary',
  'form', 'caption', 'thead', 'tbody'];

class Element {
  constructor(tag) {
    this.tag = tag;
    this.attributes = {};
    this.children = [];
    this.listeners = {};
    this.value = '';
  }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  append(...children) {
    for (const child of children) {
      if (typeof child !== 'string' && !(child instanceof Element)) throw new Error(`${child} is appended to ${this.tag}`);
    }
    this.children.push(...children);
  }
  replaceChildren(...children) {
    this.children = [];
    this.append(...children);
  }
  addEventListener(kind, listener) { this.listeners[kind] = listener; }
  set textContent(text) { this.children = [text]; }
  get textContent() { return this.children.map((child) => child instanceof Element ? child.textContent : child).join(''); }
  // Of the selectors the page uses: elements by tag, below another tag.
  querySelectorAll(selector) {
    const [tag, parent] = selector.split(' ').reverse();
    const below = parent ? this.all.filter((element) => element.tag === parent) : [this];
    return below.flatMap((element) => element.all.filter((inner) => inner !== element && inner.tag === tag));
  }
  get all() { return [this, ...this.children.flatMap((child) => child instanceof Element ? child.all : [])]; }
}

function text(node) {
  if (!(node instanceof Element)) return node;
  if (node.tag === 'i' || node.tag === 'b') return `<${[node.attributes.class, node.attributes.style].join(' ').trim()}>`;
  const parts = node.children.map(text);
  const inside = parts.join(node.tag === 'tr' ? ' | ' : '');
  if (node.tag === 'dt') return `\n${inside}: `;
  return BLOCKS.includes(node.tag) ? `\n${inside}\n` : inside;
}

function decoded(bytes) { return imports.byteArray.toString(bytes); }

const source = decoded(GLib.file_get_contents(ARGV[0])[1]);
const [, json] = /<script type="application\/json" id="report">([^]*?)<\/script>/.exec(source);
const [, script] = /<script>([^]*?)<\/script>/.exec(source);

const report = new Element('script');
report.append(json);
const page = new Element('main');
const window = new Element('window');
const document = {
  title: '',
  createElement: (tag) => new Element(tag),
  getElementById: (id) => ({report, page})[id],
  querySelectorAll: (selector) => page.querySelectorAll(selector),
};
new Function('document', 'window', script)(document, window);

for (let i = 1; i < ARGV.length;) {
  if (ARGV[i] === 'input') {
    const control = page.all.find((element) => element.attributes.id === ARGV[i + 1]);
    control.value = ARGV[i + 2];
    control.listeners.input();
    i += 3;
  } else if (ARGV[i] === 'print') {
    window.listeners.beforeprint();
    for (const details of page.querySelectorAll('details').filter((element) => element.open)) {
      print(`opened for print: ${details.children[0].textContent}`);
    }
    i += 1;
  } else {
    page.all.find((element) => element.tag === 'button' && element.textContent === ARGV[i + 1]).listeners.click();
    i += 2;
  }
}
print(document.title);
print(text(page).replace(/\0/g, '\\0').replace(/\n\n+/g, '\n'));
