import { chmod, mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runProgram } from '../../../src/daemon/program/run-program.ts'
import { systemClock, systemRandom } from '../../../src/node/index.ts'
import { freePort } from '../../support/free-port.ts'

type Env = Readonly<Record<string, string>>

/** Runs a command; `serve` ends as soon as it runs. */
async function tenantryd(command: string, env: Env) {
  const [out, err]: [string[], string[]] = [[], []]
  const exit = await runProgram([command], {
    env,
    stdin: (async function* () {})(),
    stdout: { write: (text) => out.push(text) },
    stderr: { write: (text) => err.push(text) },
    signal: AbortSignal.abort(),
    clock: systemClock,
    random: systemRandom,
  })
  return { exit, err: err.join('') }
}

async function inFolder(change: (folder: string) => Promise<Env> | Env): Promise<Env> {
  const folder = await mkdtemp(join(tmpdir(), 'check-config-'))
  const base = { TENANTRY_LISTEN: `127.0.0.1:${await freePort()}`, TENANTRY_DATA_DIR: join(folder, 'data'), TENANTRY_LOG_LEVEL: 'error' }
  return { ...base, ...(await change(folder)) }
}

const file = async (path: string, content: string, mode = 0o600) => {
  await writeFile(path, content)
  await chmod(path, mode)
  return path
}
const dataFile = async (folder: string, name: string, mode: number) => {
  await mkdir(join(folder, 'data'))
  await file(join(folder, 'data', name), 'x', mode)
  return {}
}
const key = Buffer.alloc(32, 5).toString('base64')

const wrong: Record<string, readonly [says: RegExp, change: (folder: string) => Promise<Env> | Env]> = {
  'an unknown setting': [/TENANTRY_LISTN is not a known setting/, () => ({ TENANTRY_LISTN: 'x' })],
  'a wrong value': [/logLevel .*\(TENANTRY_LOG_LEVEL\)/, () => ({ TENANTRY_LOG_LEVEL: 'loud' })],
  'a port that does not exist': [/listen .*TENANTRY_LISTEN/, () => ({ TENANTRY_LISTEN: '127.0.0.1:70000' })],
  'an address of another machine': [/listen on 192\.0\.2\.1/, () => ({ TENANTRY_LISTEN: '192.0.2.1:8440', TENANTRY_SECRET_KEY: key })],
  'a host name that nobody knows': [
    /listen on nowhere\.invalid/,
    () => ({ TENANTRY_LISTEN: 'nowhere.invalid:8440', TENANTRY_SECRET_KEY: key }),
  ],
  'production without a secret key': [/TENANTRY_SECRET_KEY is not set/, () => ({ TENANTRY_PUBLIC_URL: 'https://tenantry.example' })],
  'a secret key that others can read': [/secret\.key can be read by others/, (folder) => dataFile(folder, 'secret.key', 0o644)],
  'a secret key that is none': [/secret\.key must contain keys/, (folder) => dataFile(folder, 'secret.key', 0o600)],
  'a data directory that is a file': [
    /data directory .* is not a directory/,
    async (folder) => ({ TENANTRY_DATA_DIR: await file(join(folder, 'f'), '') }),
  ],
  'a data directory below a file': [
    /data directory .* is not a directory/,
    async (folder) => ({ TENANTRY_DATA_DIR: join(await file(join(folder, 'f'), ''), 'data') }),
  ],
  'a database in no folder': [
    /folder .* of the database does not exist/,
    (folder) => ({ TENANTRY_DATABASE: `sqlite:${folder}/none/x.db` }),
  ],
  'a database without a name': [/database.*sqlite:<file>/, () => ({ TENANTRY_DATABASE: 'sqlite:' })],
  'a database that is a folder': [/database.* is not a SQLite file/, (folder) => ({ TENANTRY_DATABASE: `sqlite:${folder}` })],
  'a database of something else': [
    /database.* is not a SQLite file/,
    async (folder) => ({ TENANTRY_DATABASE: `sqlite:${await file(join(folder, 'notes.txt'), 'notes, no database')}` }),
  ],
  'a PostgreSQL address that is none': [
    /PostgreSQL URL .* cannot be read/,
    () => ({ TENANTRY_DATABASE: 'postgres://user@host:port/x', TENANTRY_SECRET_KEY: key }),
  ],
  'a Redis address that is none': [/Redis address cannot be read/, () => ({ TENANTRY_REDIS: 'redis://127.0.0.1/one/two' })],
  'agents that are lost before they are asked again': [/agents\.requeueAfterMs/, () => ({ TENANTRY_AGENTS_REAP_AFTER_MS: '1000' })],
  'polls longer than the silence of a lost host': [/agents\.longPollMs/, () => ({ TENANTRY_AGENTS_OFFLINE_AFTER_MS: '30000' })],
  'a public network as a private one': [/is not private/, () => ({ TENANTRY_HOMESERVERS_PRIVATE_NETWORKS: '8.8.8.0/24' })],
  'a network that is none': [/is not a network/, () => ({ TENANTRY_HOMESERVERS_PRIVATE_NETWORKS: 'ten' })],
  'a token file of metrics that others can read': [
    /token file .* can be read by others/,
    async (folder) => ({ TENANTRY_METRICS_TOKEN_FILE: await file(join(folder, 'token'), 'a'.repeat(64), 0o644) }),
  ],
  'a role book that is not there': [/Role book .* cannot be read/, (folder) => ({ TENANTRY_ROLES: join(folder, 'roles.yaml') })],
  'a role book without roles': [/roles\.yaml/, async (folder) => ({ TENANTRY_ROLES: await file(join(folder, 'roles.yaml'), 'roles: {}') })],
  'a bucket without credentials': [/objectStore is a bucket/, () => ({ TENANTRY_OBJECT_STORE: 's3://s3.example/files' })],
}

describe('check-config and serve refuse the same settings with the same words', () => {
  test.each(Object.entries(wrong))('%s', async (_, [says, change]) => {
    const env = await inFolder(change)
    const [checked, served] = [await tenantryd('check-config', env), await tenantryd('serve', env)]
    expect(checked.err).toMatch(says)
    expect([checked.exit, served]).toEqual([expect.toSatisfy((exit) => exit === 2 || exit === 6), checked])
    expect(checked.err).not.toContain('internal error')
  })
})

describe('and both accept', () => {
  const right: Record<string, (folder: string) => Env> = {
    'no setting at all': () => ({}),
    production: () => ({ TENANTRY_PUBLIC_URL: 'https://tenantry.example', TENANTRY_SECRET_KEY: key }),
    'a database elsewhere': (folder) => ({ TENANTRY_DATABASE: `sqlite:${folder}/x.db` }),
    'a folder for files': (folder) => ({ TENANTRY_OBJECT_STORE: `file:${folder}/files` }),
  }
  test.each(Object.entries(right))('%s', async (_, change) => {
    const env = await inFolder(change)
    expect([await tenantryd('check-config', env), await tenantryd('serve', env)]).toEqual([
      { exit: 0, err: '' },
      { exit: 0, err: '' },
    ])
  })
})

test('everything that is wrong is listed at once', async () => {
  const env = await inFolder(() => ({
    TENANTRY_PUBLIC_URL: 'https://tenantry.example',
    TENANTRY_HOMESERVERS_PRIVATE_NETWORKS: '8.8.8.0/24',
    TENANTRY_OBJECT_STORE: 's3://s3.example/files',
  }))
  const { exit, err } = await tenantryd('check-config', env)
  expect(exit).toBe(2)
  for (const says of ['TENANTRY_SECRET_KEY is not set', '8.8.8.0/24 is not private', 'objectStore is a bucket']) expect(err).toContain(says)
})
