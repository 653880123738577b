import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { globalOptions } from '../../../src/cli/first-page.ts'
import type { Command } from '../../../src/cli/kit/index.ts'
import { wholeTree } from '../../../src/cli/nouns.ts'

const globalNames = Object.values(globalOptions).flatMap(([flags]) => /--[a-z-]+/.exec(flags) ?? [])
/** A placeholder in a template text. */
const placeholder = '<…>'

/** Commands in the texts of all programs, up to a character that no command contains. A noun alone is not a command. */
function commandsInTexts(): string[] {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file))
  const sources = files.map((file) =>
    readFileSync(`src/${file}`, 'utf8')
      .replaceAll(/^ *(?:\/\/|\/?\*).*$/gm, '')
      .replaceAll('</', "'"),
  )
  const texts = sources.flatMap((source) => source.replaceAll(/'…'|\$\{(?:[^{}]|\{[^{}]*\})*\}/g, placeholder).match(commandPattern) ?? [])
  return [...new Set(texts.map((text) => withoutBuilt(text.trim())))].filter((text) => /^tenantry [a-z]+ [a-z]/.test(text))
}

/** Options that a program appends to a command, as `list<…>`, are not known here: only the command itself is checked. */
const withoutBuilt = (text: string): string => (/\S<…>/.test(text) ? text.split(' ').slice(0, 3).join(' ').replace(/<….*$/, '') : text)

const commandPattern = /(?<![\w-])tenantry [a-z][^`'"\n;:,.()\\]*/g

/** The errors of a command. A command without arguments or options is only mentioned, so missing arguments are allowed. */
function errorsIn(line: string, command: Command): string[] {
  const [, , ...words] = line.split(' ')
  const flags = Object.values(command.options).map((spec) => ({ ...spec, name: /--[a-z-]+/.exec(spec.flags)?.[0] ?? '' }))
  const unknown = words.filter((word) => word.startsWith('--') && ![...globalNames, ...flags.map(({ name }) => name)].includes(word))
  if (words.includes('--help') || !words.some((word) => /^(<|--)/.test(word))) return unknown
  const values = words.filter((_, at) => flags.some(({ name, flags }) => name === words[at - 1] && flags.includes('<')))
  const given = words.filter((word) => !word.startsWith('--')).length - values.length
  const needed = command.usage.split(' ').filter((word) => word.startsWith('<')).length
  const bare = flags.filter(
    ({ name, flags }) => flags.includes('<') && /^(--|$)/.test(words[words.indexOf(name) + 1] ?? '') && words.includes(name),
  )
  const missing = flags.filter(({ mandatory, name }) => mandatory && !words.includes(name)).map(({ name }) => name)
  return [...unknown, ...missing, ...bare.map(({ name }) => `a value of ${name}`), ...(given < needed ? [`${needed - given} more`] : [])]
}

test('commands in texts exist with their options and required arguments', async () => {
  const { nouns, alone } = await wholeTree()
  const commands = commandsInTexts().filter((line) => !alone.some(({ name }) => line.split(' ')[1] === name))
  const wrong = commands.flatMap((line) => {
    const [, first, second] = line.split(' ')
    const command = nouns.find(({ name }) => name === first)?.verbs.find(({ name }) => name === second)
    const reasons = command ? errorsIn(line, command) : ['no such command']
    return reasons.length === 0 ? [] : [`${line}: ${reasons.join(', ')}`]
  })
  expect(wrong).toEqual([])
  expect(commands.length).toBeGreaterThan(60)
})
