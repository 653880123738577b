import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { asksFirstPage, firstPage } from '../../../src/cli/first-page.ts'
import type { Tree } from '../../../src/cli/kit/index.ts'
import { names, treeFor, wholeTree } from '../../../src/cli/nouns.ts'
import { tenantry } from '../../support/command-line.ts'
import { aHost } from '../../support/records.ts'

/** The nouns and verbs that scripts rely on. */
const promised = {
  hosts: 'invite list show revoke registries platform upgrade',
  tenants: 'list show create update window billing suspend resume export delete',
  users: 'list show create update roles disable enable erase reset-password sessions end-session import',
  boxes:
    'list show provision adopt import scan check follow services logs restart maintenance canary move remove release reconcile rehearse-upgrade',
  manifest: 'show history diff resolve apply rollback',
  snapshots: 'list take restore recover drill proofs abandon',
  rollouts: 'plan rehearse create start watch pause resume promote abort rollback show list emergency',
  modules: 'init check test pack register submit list show health audit withdraw restore upstream',
  reviews: 'list show approve reject invite verify',
  billing: 'preview usage waive payouts developer reconcile',
  alerts: 'list show acknowledge resend channels test',
  jobs: 'list show retry',
  crons: 'list run history',
  audit: 'list verify export checkpoint public-key',
  settings: 'list',
  tokens: 'list create revoke',
  accounts: 'list create disable role passkeys remove-passkey',
  contexts: 'list use remove',
  completion: 'bash zsh fish names',
} as const

describe('help', () => {
  test('lists every noun with its verbs, and the commands without a noun', async () => {
    const { exit, stdout } = await tenantry(['--help'])
    expect(exit).toBe(0)
    for (const [noun, verbs] of Object.entries(promised))
      expect(stdout).toMatch(new RegExp(`^  ${noun} +${verbs.replaceAll(' ', ' \\| ')}$`, 'm'))
    for (const alone of ['login', 'logout', 'whoami', 'status', 'doctor']) expect(stdout).toMatch(new RegExp(`^  ${alone} `, 'm'))
  })

  test('each command has its own help, without a request', async () => {
    for (const { name, verbs } of (await wholeTree()).nouns) {
      for (const verb of verbs) {
        const ran = await tenantry([name, verb.name, '--help'])
        expect([name, verb.name, ran.exit, ran.asked]).toEqual([name, verb.name, 0, []])
        expect(ran.stdout).toContain(verb.summary.slice(0, 30))
      }
    }
  })

  test.each([60, 80, 100, 130])('the first page folds between words on %s columns, beside the names', async (columns) => {
    const { stdout } = await tenantry(['help'], { columns })
    const lines = stdout.split('\n')
    for (const line of lines.slice(1)) expect(line.length, line).toBeLessThanOrEqual(columns)
    const words = stdout.split(/\s+/)
    for (const verb of Object.values(promised).join(' ').split(' ')) expect(words).toContain(verb)
    const nouns = lines.slice(lines.indexOf('Nouns and verbs:') + 1, lines.indexOf('Commands:') - 1)
    for (const line of nouns) expect(line).toMatch(/^ {2}\S| {14}\S/)
    expect(nouns.some((line) => line.trimStart().startsWith('|'))).toBe(false)
  })

  test('the help of a noun with long terms stays beside its indent, and a command that reads and changes says so', async () => {
    const { stdout } = await tenantry(['marketplace', '--help'], { columns: 80 })
    const [, commands = ''] = stdout.split('Read and change:\n')
    for (const line of commands.split('\n\n')[0]?.split('\n') ?? []) {
      expect(line).toMatch(/^ {2}/)
      expect(line.length).toBeLessThanOrEqual(80)
    }
    expect(commands).toMatch(/^ {2}submissions .*\n {40,}Review flows/m)
    expect(stdout).not.toContain('\nChange:')
  })

  test('lists what reads apart, and offers --columns for it alone', async () => {
    const { stdout } = await tenantry(['billing', '--help'])
    expect(stdout.split('Change:')[0]).toMatch(/Read:[\s\S]* preview [\s\S]* usage [\s\S]* payouts [\s\S]* reconcile /)
    const answers = {
      'GET /api/admin/v1/automation-keys': { keys: [] },
      'GET /api/admin/marketplace/items': { items: [], nextCursor: null },
    }
    expect((await tenantry(['automation', 'keys', 'list', '--columns', 'key'], { answers })).exit).toBe(0)
    expect((await tenantry(['marketplace', 'items', 'list', '--columns', 'item'], { answers })).exit).toBe(0)
    const changes = await tenantry(['automation', 'keys', 'revoke', 'n8n', '--columns', 'key'], { answers })
    expect(changes.stderr).toContain('--columns is for commands that read')
  })

  test('has complete examples', async () => {
    for (const { verbs } of (await wholeTree()).nouns)
      for (const { name, examples = [] } of verbs) for (const example of examples) expect(example.split(' ')[0]).toBe(name)
  })

  test('lists the names without loading the features', async () => {
    const inAll = ({ nouns, alone }: Tree) => [
      ...nouns.map(({ name, verbs }) => [name, ...verbs.map((verb) => verb.name)]),
      ...alone.map(({ name, summary }) => [name, summary]),
    ]
    expect(inAll(await treeFor(['--help']))).toEqual(inAll(await wholeTree()))
  })

  test('a noun alone prints its help and is a usage error', async () => {
    const ran = await tenantry(['rollouts'])
    expect(ran.exit).toBe(2)
    expect(ran.stderr).toContain('rollback')
    expect(JSON.parse((await tenantry(['rollouts', '--json'])).stderr)).toMatchObject({ code: 'USAGE', message: 'a command is missing' })
  })

  test.each([
    [['drift', '--help'], 'tenantry --help'],
    [['--json', 'drift', '-h'], undefined],
    [['rollouts', 'drift', '--help'], 'tenantry rollouts --help'],
  ])('for an unknown name is a usage error: %s', async (line, next) => {
    const ran = await tenantry(line)
    expect([ran.exit, ran.stdout.includes('Options')]).toEqual([2, false])
    expect(ran.stderr).toContain("unknown command 'drift'")
    if (next) expect(ran.stderr).toContain(`next:  ${next}\n`)
  })

  test('is wrapped for a terminal, not for a pipe', async () => {
    const widest = (text: string) => Math.max(...text.split('\n').map((line) => line.length))
    const piped = (await tenantry(['boxes', '--help'])).stdout
    expect(piped).toMatch(/^ {2}reconcile .*Re-sync users and spaces to the chat server$/m)
    // Also with long names, which leave little width for descriptions.
    for (const noun of ['hosts', 'users'])
      expect(widest((await tenantry([noun, '--help'], { columns: 80 })).stdout)).toBeLessThanOrEqual(80)
    const shown = (await tenantry(['boxes', '--help'], { columns: 90 })).stdout
    expect([widest(shown) <= 90, shown.replace(/\s+/g, ' ')]).toEqual([true, piped.replace(/\s+/g, ' ')])
    // With a usage error help goes to stderr, which may have another width than stdout.
    expect(widest((await tenantry(['hosts'], { columns: 0, stderrColumns: 80 })).stderr)).toBeLessThanOrEqual(80)
    expect(widest((await tenantry(['boxes'], { columns: 80, stderrColumns: 0 })).stderr)).toBeGreaterThan(80)
  })

  test('--version', async () => {
    expect(await tenantry(['--version'])).toMatchObject({ exit: 0, stdout: '9.9.9\n' })
  })
})

describe('completion', () => {
  test.each(['bash', 'zsh', 'fish'])('%s knows every noun, verb and option', async (shell) => {
    const { exit, stdout } = await tenantry(['completion', shell])
    expect(exit).toBe(0)
    const words = Object.entries(promised).flatMap(([noun, verbs]) => [noun, ...verbs.split(' ')])
    for (const word of [...words, 'doctor', 'skip-failed', 'no-wait']) expect(stdout).toContain(word)
  })

  test('bash completes nouns, verbs and options', async () => {
    const { stdout: script } = await tenantry(['completion', 'bash'])
    const complete = (...words: string[]) => {
      const run = `${script}\nCOMP_WORDS=(${words.map((word) => `"${word}"`).join(' ')}); COMP_CWORD=${words.length - 1}; _tenantry; echo "\${COMPREPLY[@]}"`
      return execFileSync('bash', ['-c', run], { encoding: 'utf8' }).trim()
    }
    expect(complete('tenantry', 'ro')).toBe('rollouts')
    expect(complete('tenantry', 'rollouts', 'res')).toBe('resume')
    expect(complete('tenantry', 'rollouts', 'resume', 'ro_x', '--skip-')).toBe('--skip-failed')
    expect(complete('tenantry', 'login', '--na')).toBe('--name')
    for (const verb of ['plan', 'create', 'rehearse']) {
      expect(complete('tenantry', 'rollouts', verb, '--ba')).toBe('--bake')
      expect(complete('tenantry', 'rollouts', verb, '--par')).toBe('--parallel')
    }
    expect(complete('tenantry', 'rollouts', 'prom')).toBe('promote')
    expect(complete('tenantry', 'boxes', 'rest')).toBe('restart')
    expect(complete('tenantry', 'boxes', 'restart', 'x', '--rea')).toBe('--reason')
    expect(complete('tenantry', 'boxes', 'follow', 'x', '--ur')).toBe('--url')
  })

  test('bash completes names of boxes, tenants, rollouts and hosts, also after an option', async () => {
    const { stdout: script } = await tenantry(['completion', 'bash'])
    const program =
      'tenantry() { case "$*" in *boxes) echo anna-schule;; *hosts) echo host-1;; *rollouts) echo ro_x;; *tenants) echo oak;; esac; }'
    const complete = (...words: string[]) => {
      const run = `${script}\n${program}\nCOMP_WORDS=(${words.map((word) => `"${word}"`).join(' ')}); COMP_CWORD=${words.length - 1}; _tenantry; echo "\${COMPREPLY[@]}"`
      return execFileSync('bash', ['-c', run], { encoding: 'utf8' }).trim()
    }
    for (const verb of ['show', 'restart', 'follow']) expect(complete('tenantry', 'boxes', verb, '')).toBe('anna-schule')
    expect(complete('tenantry', 'rollouts', 'promote', '')).toBe('ro_x')
    expect(complete('tenantry', 'hosts', 'revoke', 'h')).toBe('host-1')
    expect(complete('tenantry', 'rollouts', 'watch', '')).toBe('ro_x')
    expect(complete('tenantry', 'users', 'list', '')).toBe('oak')
    expect(complete('tenantry', 'rollouts', 'create', '--target', 'a')).toBe('anna-schule')
    expect(complete('tenantry', 'boxes', 'list', '--host', '')).toBe('host-1')
    expect(complete('tenantry', 'boxes', 'provision', '')).not.toContain('anna-schule')
    expect(complete('tenantry', 'boxes', 'show', '--js')).toBe('--json')
  })

  test('zsh and fish read names from the daemon too', async () => {
    for (const shell of ['zsh', 'fish']) expect((await tenantry(['completion', shell])).stdout).toContain('tenantry completion names')
  })

  test('names are printed one a line, and nothing without a daemon', async () => {
    const answers = { 'GET /api/admin/v1/hosts': { hosts: [aHost({ name: 'host-1' }), aHost({ name: 'host-2' })] } }
    expect((await tenantry(['completion', 'names', 'hosts'], { answers })).stdout).toBe('host-1\nhost-2\n')
    expect(await tenantry(['completion', 'names', 'boxes'])).toMatchObject({ exit: 0, stdout: '', stderr: '' })
  })

  test('a name that the shell would run as a command is left out', async () => {
    const hosts = ['host-1', '$(touch /tmp/x)', '`id`', 'a;b', 'a b', '-rf'].map((name) => aHost({ name }))
    const { stdout } = await tenantry(['completion', 'names', 'hosts'], { answers: { 'GET /api/admin/v1/hosts': { hosts } } })
    expect(stdout).toBe('host-1\n')
  })
})

/** Files loaded before the command is known: the static imports of `main.ts`, transitively. */
function loadedAtStart(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found
  found.add(file)
  const text = readFileSync(file, 'utf8').replace(/^(import|export) type\b.*$/gm, '')
  for (const [, names = '', to = ''] of text.matchAll(/^(?:import|export)\s+([^'"]*?\bfrom\s+)?'([^']+)'/gm)) {
    const typesOnly =
      /^\{[^}]*\}/.test(names) &&
      names
        .replace(/[{}\s]|from$/g, '')
        .split(',')
        .filter(Boolean)
        .every((name) => name.startsWith('type'))
    if (typesOnly) continue
    const path = resolve(dirname(file), to)
    if (to.startsWith('.') && existsSync(path)) loadedAtStart(path, found)
    else if (!to.startsWith('.')) found.add(to)
  }
  return found
}

const cli = resolve(import.meta.dirname, '../../../src/cli')

test('a command is parsed without contracts and anything heavy', () => {
  const loaded = [...loadedAtStart(resolve(cli, 'kit/index.ts'))].filter((file) => !file.startsWith('/'))
  const light = /^(node:|commander$|@noble\/hashes)/
  expect(loaded.filter((name) => !light.test(name))).toEqual([])
  expect(loaded).toContain('commander')
})

test('the first page loads three files and no library', () => {
  expect([...loadedAtStart(resolve(cli, 'main.ts'))].sort()).toEqual(
    ['first-page.ts', 'main.ts', 'nouns.ts'].map((file) => resolve(cli, file)),
  )
})

test('the fast first page equals the page of a longer command line', async () => {
  expect((await tenantry(['--json', '--help'])).stdout).toBe(firstPage(names(), Number.POSITIVE_INFINITY))
  expect([['--help'], ['-h']].map(asksFirstPage)).toEqual([true, true])
  expect([[], ['help'], ['hosts', '--help'], ['--help', 'hosts']].map(asksFirstPage)).toEqual([false, false, false, false])
})
