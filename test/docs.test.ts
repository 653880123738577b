import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { matchesGlob, resolve } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { AgentSettings } from '../src/agent/program/settings.ts'
import { BoardDefinition, checkBoard, SimulationScript, simulateBoard } from '../src/core/boards/index.ts'
import { loadConfig, variableNames } from '../src/daemon/config/load.ts'
import { commandChecker } from './support/named-commands.ts'

const text = readFileSync('docs/settings.md', 'utf8')
const row = (variable: string) => text.split('\n').find((line) => line.startsWith('|') && line.includes(`\`${variable}\``)) ?? ''

describe('docs/settings.md has every setting, with its default', () => {
  const defaults = loadConfig({ env: {} }) as unknown as Record<string, unknown>
  const valueAt = (path: readonly string[]) => path.reduce<unknown>((value, key) => (value as Record<string, unknown>)?.[key], defaults)

  test.each([...variableNames()])('%s', (variable, path) => {
    expect(row(variable)).toContain(`| \`${path.join('.')}\` |`)
    const value = valueAt(path)
    if (['string', 'number'].includes(typeof value)) expect(row(variable)).toContain(`| \`${value}\` |`)
  })

  test.each(Object.entries(AgentSettings.parse({})))('%s of an agent', (key, value) => {
    const variable = `TENANTRY_AGENT_${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`
    expect(row(variable)).toContain(`| \`${key}\` |`)
    if (['string', 'number'].includes(typeof value) && key !== 'templateDir') expect(row(variable)).toContain(`| \`${value}\` |`)
  })

  test('and none that is not one', () => {
    const known = [
      ...variableNames().keys(),
      ...Object.keys(AgentSettings.shape).map((key) => `TENANTRY_AGENT_${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`),
    ]
    const named = [...text.matchAll(/^\| `[\w.]+` \| `(TENANTRY_\w+)`/gm)].map(([, name]) => name)
    expect(named.filter((name) => !known.includes(name as string))).toEqual([])
    expect(named).toHaveLength(known.length)
  })
})

describe('every command that is shown is one', async () => {
  const wrongWith = await commandChecker()

  /** In a console or between backticks, one line each. */
  const shownIn = (page: string) =>
    [...page.matchAll(/(?:^\$ |`)((?:tenantryd|tenantry-agent|tenantry) [a-z][^`\n]*)/gm)].map(([, line]) =>
      (line as string).replace(/ #.*| \|.*/, '').trim(),
    )

  test.each([
    'README.md',
    ...readdirSync('docs')
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
  ])('%s', async (path) => {
    expect((await Promise.all(shownIn(readFileSync(path, 'utf8')).map(wrongWith))).flat()).toEqual([])
  })
})

describe('lines have under 120 characters', () => {
  test.each(['README.md', 'deploy/README.md', ...readdirSync('docs').flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : []))])(
    '%s',
    (path) => {
      const lines = readFileSync(path, 'utf8').split('\n')
      expect(lines.flatMap((line, n) => ([...line].length < 120 ? [] : [`${n + 1}: ${line}`]))).toEqual([])
    },
  )
})

describe('a page with commands links to their installation before the first one', () => {
  test.each(readdirSync('docs').filter((name) => name.endsWith('.md') && name !== 'operating.md'))('%s', (name) => {
    const page = readFileSync(`docs/${name}`, 'utf8')
    const blocks = [...page.matchAll(/^```(?:\w*)\n([\s\S]*?)^```$/gm)]
    const first = blocks.find(([, text = '']) => /^(?:[$#] )?tenantry(?:d|-agent)? /m.test(text))
    const intro = page.slice(0, first?.index ?? 0)
    expect(first === undefined || intro.includes('operating.md#install-the-programs')).toBe(true)
  })
})

describe('every page that is linked is there', () => {
  test.each(['.', 'docs', 'docs/decisions'])('%s', (folder) => {
    const pages = readdirSync(folder).filter((name) => name.endsWith('.md'))
    const links = pages.flatMap((page) => [...readFileSync(`${folder}/${page}`, 'utf8').matchAll(/\]\(([\w./-]+)(?:#[\w-]*)?\)/g)])
    expect(links.map(([, target]) => `${folder}/${target}`).filter((path) => !existsSync(path))).toEqual([])
  })
})

test('docs/development.md names files of src that exist', () => {
  const named = [...readFileSync('docs/development.md', 'utf8').matchAll(/`((?:core|daemon|agent|cli|node)\/[\w./-]+)`/g)]
  expect(named.length).toBeGreaterThan(5)
  expect(named.map(([, path]) => path).filter((path) => !existsSync(`src/${path}`))).toEqual([])
})

test('the boards of docs/boards.md are what the page says', async () => {
  const page = readFileSync('docs/boards.md', 'utf8')
  const [visitors, crisis] = [...page.matchAll(/```json\n(\{"name"[\s\S]*?)```/g)].map(([, json]) => {
    const { name, definition } = JSON.parse(json as string)
    return { name, definition: BoardDefinition.parse(definition) }
  })
  const context = { roles: new Set(['teacher', 'principal']), rooms: new Set<string>() }
  const found = (board: typeof visitors) =>
    board && checkBoard(board.definition, context).map(({ code, path }) => [code, path?.join(' > ')])
  expect([visitors?.name, found(visitors)]).toEqual(['Visitors', []])
  const path = 'start > alarm > which > call > meet'
  expect([crisis?.name, found(crisis)]).toEqual(['Crisis', [['DEADLOCK', path]]])
  expect(page).toContain(`  ${path}\n`)
  const [, answers = '{}'] = /simulate -d '([\s\S]*?)'\n/.exec(page) ?? []
  const script = SimulationScript.parse(JSON.parse(answers))
  expect(visitors && simulateBoard(visitors.definition, script, '2026-11-27T08:00:00Z').outcome).toBe('completed')
})

describe('every npm and vitest command of docs/development.md runs something', () => {
  const scripts: Readonly<Record<string, string>> = JSON.parse(readFileSync('package.json', 'utf8')).scripts
  const page = readFileSync('docs/development.md', 'utf8')
  const shown = [...page.matchAll(/`([^`]*\b(?:npm (?:run|test)|npx vitest run)\b[^`]*)`/g)].flatMap(([, code = '']) =>
    code
      .replaceAll(/\s+/g, ' ')
      .split('&&')
      .map((command) => command.trim()),
  )
  // `notes` is the feature of the examples.
  const example = (path: string) => new RegExp(`^${path.replaceAll('.', '\\.').replaceAll('notes', '[\\w-]+').replace('<file>', '.*')}`)

  test.each(shown.filter((command) => /npm (run|test)/.test(command)))('%s', (command) => {
    const [, name = 'test'] = /npm (?:run )?([\w:]+)/.exec(command) ?? []
    expect(Object.keys(scripts)).toContain(name)
  })

  test.each(shown.filter((command) => command.includes('npx vitest run')))('%s', async (command) => {
    const [settings = '', words = ''] = command.split('npx vitest run')
    const isWhole = settings.includes('TENANTRY_TESTS=all')
    const config = /(?:-c|--config) (\S+)/.exec(words)?.[1] ?? 'vitest.config.ts'
    const files = words.split(' ').filter((word) => /^(test\/|<)/.test(word))
    const found = await testFiles(config, isWhole)
    expect(files.filter((file) => !found.some((one) => example(file).test(one)))).toEqual([])
  })

  const known = new Map<string, Promise<readonly string[]>>()
  const testFiles = (config: string, isWhole: boolean) => {
    const key = `${config} ${isWhole}`
    const files = known.get(key) ?? readTestFiles(config, isWhole)
    known.set(key, files)
    return files
  }

  /** The files that a configuration includes. */
  async function readTestFiles(config: string, isWhole: boolean): Promise<readonly string[]> {
    vi.resetModules()
    vi.stubEnv('TENANTRY_TESTS', isWhole ? 'all' : '')
    vi.stubEnv('CHANGED_AREAS', undefined)
    try {
      const { default: read } = (await import(resolve(config))) as { default: { test: { include: string[]; exclude: string[] } } }
      const { include, exclude } = read.test
      const files = readdirSync('test', { recursive: true, encoding: 'utf8' }).map((file) => `test/${file}`)
      return files.filter((file) => include.some((glob) => matchesGlob(file, glob)) && !exclude.some((glob) => matchesGlob(file, glob)))
    } finally {
      vi.unstubAllEnvs()
    }
  }
})
