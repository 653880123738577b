import { describe, expect, test } from 'vitest'
import { loadScan } from '../../../src/core/scan/index.ts'

const scanFile = await loadScan()

const bytes = (text: string) => new TextEncoder().encode(text)
/** `rule line:column` of each finding. */
const found = (text: string, file = 'index.js') =>
  scanFile(file, bytes(text)).map(({ rule, line, column }) => (line === undefined ? rule : `${rule} ${line}:${column}`))

describe('code that reaches out of a module is found', () => {
  test.each([
    ['a built-in module', `import 'node:child_process'`, ['import-not-relative 1:8']],
    ['a package', `import x from 'lodash'`, ['import-not-relative 1:15']],
    ['a name of an imports map', `import cp from '#cp'`, ['import-not-relative 1:16']],
    ['a data: URL', `await import('data:text/javascript,1')`, ['import-not-relative 1:14']],
    ['a concatenated import', `await import('child_' + 'process')`, ['import-not-literal 1:14']],
    ['a computed import', `const n = 'x'\nexport const on = { a: () => import(n) }`, ['import-not-literal 2:37']],
    ['an import in a template', `import(\`./\${x}.js\`)`, ['import-not-literal 1:8']],
    ['export from', `export * from 'fs'`, ['import-not-relative 1:15']],
    ['export names from', `export { readFile } from 'fs'`, ['import-not-relative 1:26']],
    ['a path out of the package', `import '../other/index.js'`, ['import-outside 1:8']],
    ['an absolute path', `import '/etc/passwd'`, ['import-not-relative 1:8']],
    ['an encoded path', `import './%2e%2e/x.js'`, ['import-not-relative 1:8']],
    ['require', `const cp = require('child_process')`, ['require 1:12', 'dangerous-name 1:20']],
    ['process.getBuiltinModule', `process.getBuiltinModule('fs')`, ['global-name 1:1', 'dangerous-name 1:9']],
    ['process.binding', `process.binding('spawn_sync')`, ['global-name 1:1', 'dangerous-name 1:17']],
    ['process.dlopen', `process.dlopen(x)`, ['global-name 1:1', 'dangerous-name 1:9']],
    ['process by a text', `x['pro' + 'cess'].mainModule`, ['dangerous-name 1:19']],
    ['eval', `eval('1')`, ['global-name 1:1']],
    ['an escaped eval', `\\u0065val('1')`, ['global-name 1:1']],
    ['an indirect eval', `(0, eval)('1')`, ['global-name 1:5']],
    ['Function', `new Function('return 1')()`, ['global-name 1:5']],
    ['Reflect.construct(Function)', `Reflect.construct(Function, ['x'])`, ['global-name 1:19']],
    ['the constructor of a constructor', `[].constructor.constructor('x')()`, ['constructor-access 1:4', 'constructor-access 1:16']],
    ['the constructor of an async function', `(async () => {}).constructor('x')()`, ['constructor-access 1:18']],
    ['a computed constructor', `x['constructor']`, ['constructor-access 1:3']],
    ['a concatenated constructor', `x['con' + 'struc' + 'tor']`, ['constructor-access 1:3']],
    ['a constructor in a template', `x[\`con\${'structor'}\`]`, ['constructor-access 1:3']],
    ['a joined constructor', `x[['con', 'structor'].join('')]`, ['constructor-access 1:3']],
    ['an escaped constructor', `x['\\x63onstructor']`, ['constructor-access 1:3']],
    ['a constructor in a pattern', `const { constructor: F } = () => {}`, ['constructor-access 1:9']],
    ['a constructor by reflection', `Reflect.get(x, 'constructor')`, ['constructor-access 1:16']],
    ['module._load', `module._load('fs')`, ['global-name 1:1', 'dangerous-name 1:8']],
    ['createRequire', `import { createRequire } from 'node:module'`, ['dangerous-name 1:10', 'import-not-relative 1:31']],
    ['vm', `import vm from 'vm'`, ['import-not-relative 1:16']],
    ['a worker', `new Worker('x')`, ['global-name 1:5']],
    ['a cluster', `import cluster from 'cluster'; cluster.fork()`, ['import-not-relative 1:21']],
    ['the inspector', `import i from 'inspector'`, ['import-not-relative 1:15']],
    ['WebAssembly', `WebAssembly.instantiate(x)`, ['global-name 1:1']],
    ['globalThis', `globalThis['x']`, ['global-name 1:1']],
    ['a timer with text', `setTimeout('x', 1)`, ['timer 1:1']],
    ['the network', `fetch('https://example.org')`, ['global-name 1:1']],
    ['import.meta', `import.meta.url`, ['import-meta 1:1']],
    ['a name in an unrelated scope', `function f(process) { return process }\nprocess.exit()`, ['global-name 2:1']],
    [
      'a name that is only declared as a type',
      `declare const process: any\nprocess.exit()`,
      ['global-name 1:15', 'global-name 2:1'],
      'index.ts',
    ],
    ['a TypeScript import', `import fs = require('fs')`, ['import-not-relative 1:21'], 'index.ts'],
    ['a type import', `type F = import('fs').Stats`, ['import-not-relative 1:17'], 'index.ts'],
    ['code that hides in a text file', `import('child_process')`, ['import-not-relative 1:8'], 'notes.txt'],
    ['with', `with (x) { y }`, ['with-statement 1:1'], 'old.cjs'],
    ['a name with a joiner', `const a\u200Db = 1`, ['hidden-characters 1:7']],
    ['a direction override in a comment', `// a\u202Eb`, ['hidden-characters 1:5']],
    ['data in variation selectors', `const s = 'a\u{E0101}\u{E0102}'`, ['hidden-characters 1:13']],
    ['a direction override in a text', `a \u2066 b`, ['hidden-characters 1:3'], 'README.md'],
    ['a syntax error', `export const = 1`, ['unparsable 1:14']],
    ['JSX, which no sandbox runs', `const a = <b/>`, ['unparsable 1:11']],
  ] as [string, string, string[], string?][])('%s', (_, text, expected, file = 'index.js') => {
    expect(found(text, file)).toEqual(expected)
  })

  test('20,000 nested brackets end in a finding', () => {
    expect(found('['.repeat(20_000))).toEqual(['unparsable'])
    expect(found(`${'('.repeat(20_000)}1${')'.repeat(20_000)}`)).toEqual(['unparsable'])
  })

  test('a long chain of additions is read in time', () => {
    expect(found(`const a = ${Array.from({ length: 3000 }, () => "'a'").join('+')}`).length).toBeLessThanOrEqual(1)
  })
})

describe('files that are no code', () => {
  const rulesOf = (file: string, content: string | Uint8Array) =>
    scanFile(file, typeof content === 'string' ? bytes(content) : content).map(({ rule }) => rule)

  test.each([
    ['a native module', 'a.node', 'x', 'binary-code'],
    ['WebAssembly by its name', 'a.wasm', 'x', 'binary-code'],
    ['WebAssembly by its content', 'a.png', new Uint8Array([0, 0x61, 0x73, 0x6d]), 'binary-code'],
    ['a program', 'a.dat', new Uint8Array([0x7f, 0x45, 0x4c, 0x46]), 'binary-code'],
    ['an archive by its name', 'a.tgz', 'x', 'archive-nested'],
    ['an archive by its content', 'a.png', new Uint8Array([0x50, 0x4b, 3, 4]), 'archive-nested'],
    ['a script at installation', 'package.json', '{"scripts":{"postinstall":"x"}}', 'package-script'],
    ['an imports map', 'package.json', '{"imports":{"#cp":"child_process"}}', 'package-imports'],
    ['gypfile', 'lib/package.json', '{"gypfile":true}', 'package-native'],
    ['binding.gyp', 'binding.gyp', '{}', 'package-native'],
    ['code in UTF-16', 'a.js', new Uint8Array([0xff, 0xfe, 0x61, 0]), 'not-utf8'],
    ['code of more than 1 MiB', 'a.js', `// ${'a'.repeat(1_048_576)}`, 'code-too-large'],
  ] as const)('%s', (_, file, content, rule) => {
    expect(rulesOf(file, content)).toEqual([rule])
  })

  test('pictures and prose pass', () => {
    expect(rulesOf('icon.png', new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0]))).toEqual([])
    expect(rulesOf('README.md', '# Attendance\n\nCounts 👨‍👩‍👧 and ❤️ — process, eval and Function are words here.')).toEqual([])
    expect(rulesOf('data.json', '{"constructor": 1}')).toEqual([])
    expect(rulesOf('package.json', '{"scripts":{"build":"x"}}')).toEqual([])
  })
})

test.each([
  ['a class', `class A { constructor() { this.a = 1 } }`],
  ['a parameter of that name', `export const f = (module, { process }) => module.a + process.b`],
  ['a variable of that name', `const self = {}\nexport const f = () => self`],
  ['an imported name', `import { process } from './lib/process.js'\nprocess()`],
  ['a property of that name', `x.module = { process: 1, eval() {} }`],
  ['a method of that name', `class A { require() {} }`],
  ['a label', `module: for (;;) break module`],
  ['a relative import', `import './lib/a.js'\nexport { b } from './b.js'\nconst c = import('./c.js')`],
  ['a loop variable', `for (const module of []) module()`],
  ['a caught error', `try { f() } catch (process) { g(process) }`],
  ['emoji in text', `const a = '👨‍👩‍👧 ❤️'`],
])('%s passes', (_, text) => {
  expect(found(text)).toEqual([])
})

test('types of TypeScript pass', () => {
  expect(found('const f: Function = () => 1\ntype P = typeof process', 'a.ts')).toEqual([])
})
