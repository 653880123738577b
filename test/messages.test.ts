import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from '@babel/parser'
import { expect, test } from 'vitest'
import { AgentSettings } from '../src/agent/program/settings.ts'
import { api } from '../src/core/api.ts'
import { variableNames } from '../src/daemon/config/load.ts'
import { commandChecker } from './support/named-commands.ts'

type Text = Readonly<{ file: string; text: string }>
type Node = Readonly<{ type: string; value?: unknown; quasis?: readonly { value: { cooked: string } }[] }>

/** Every text of the code, `…` for what is filled in. */
const texts: readonly Text[] = readdirSync('src', { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map((entry) => join(entry.parentPath, entry.name))
  .flatMap((file) => textsOf(readFileSync(file, 'utf8'), file).map((text) => ({ file, text })))

function textsOf(code: string, file: string): string[] {
  const found: string[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { type, value, quasis } = node as Node
    if (type === 'StringLiteral' || type === 'JSXText') found.push(String(value))
    if (type === 'TemplateLiteral') found.push((quasis ?? []).map((part) => part.value.cooked).join('…'))
    for (const [key, child] of Object.entries(node)) if (key !== 'loc') visit(child)
  }
  visit(parse(code, { sourceType: 'module', plugins: file.endsWith('x') ? ['typescript', 'jsx'] : ['typescript'] }).program.body)
  return found
}

/** A command between backticks, or what a message says to run. It ends where the sentence goes on. */
const commandsOf = ({ text }: Text): string[] =>
  [...text.matchAll(/(?:`|fix: (?:run )?|then (?:run )?)((?:tenantryd|tenantry-agent|tenantry) [a-z][^`\n(),;:]*)/g)].map(([, line]) =>
    (line as string).replace(/ (?:as|on|in|to|until|lists|and|or|then|again|there) .*$|\.$/, '').trim(),
  )

test('every command that a message names exists, with its options', async () => {
  const wrongWith = await commandChecker()
  const named = texts.flatMap((one) => commandsOf(one).map((line) => ({ file: one.file, line })))
  expect(named.length).toBeGreaterThan(150)
  const wrong = await Promise.all(named.map(async ({ file, line }) => (await wrongWith(line)).map((reason) => `${file}: ${reason}`)))
  expect(wrong.flat()).toEqual([])
})

test('every setting that a message names exists', () => {
  const own = Object.keys(AgentSettings.shape).map(
    (key) => `TENANTRY_AGENT_${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`,
  )
  // Variables of the programs themselves, which are no settings.
  const known = [...variableNames().keys(), ...own, 'TENANTRY_TOKEN', 'TENANTRY_DEBUG']
  const named = texts.flatMap(({ file, text }) =>
    /fix: /.test(text) ? [...text.matchAll(/TENANTRY_[A-Z0-9_]*[A-Z0-9]/g)].map(([name]) => ({ file, name })) : [],
  )
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter(({ name }) => !known.some((one) => one === name || one.startsWith(`${name}_`)))).toEqual([])
})

test('every endpoint that a message names exists', () => {
  const pattern = (path: string) => path.replace(/:\w+/g, '*')
  const known = Object.values(api).flatMap((contract) => Object.values(contract).map(({ method, path }) => `${method} ${pattern(path)}`))
  const named = texts.flatMap(({ file, text }) =>
    [...text.matchAll(/\b(GET|POST|PUT|PATCH|DELETE) …(\/[\w/<>:…-]+)/g)].map(([, method, path = '']) => ({
      file,
      name: `${method} ${path.replace(/<[^>]*>|…|:\w+/g, '*')}`,
    })),
  )
  expect(named.length).toBeGreaterThan(10)
  const exists = (name: string) => {
    const [method, path = ''] = name.split(' ')
    return known.some((one) => one.startsWith(`${method} `) && one.endsWith(path))
  }
  expect(named.filter(({ name }) => !exists(name))).toEqual([])
})
