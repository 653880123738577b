import { describe, expect, test } from 'vitest'
import type { BoxView } from '../../../src/agent/box-servers/box-view.ts'
import { cachedByContainer } from '../../../src/agent/box-servers/container-cache.ts'
import { objectStoreVersion } from '../../../src/agent/box-servers/objects.ts'
import { isUpgrading } from '../../../src/agent/box-servers/probe.ts'
import { asSuperuser, assertSameCounts, databaseLogin, parseCounts } from '../../../src/agent/box-servers/sql.ts'

import type { ContainerEngine } from '../../../src/agent/ports/index.ts'

describe('a log shows an upgrade under way', () => {
  const checking = "prepare_database - main - ['main', 'state']: Checking existing schema version"
  const applying = 'prepare_database - main - Applying schema 94/01_x.sql'
  const done = 'prepare_database - main - Schema now up to date'
  const listening = 'synapse.http.server - Synapse now listening on TCP port 8008'

  test.each([
    [[checking], false],
    [[checking, applying], true],
    [[checking, applying, done], false],
    [[checking, done, listening], false],
    [[checking, done, listening, checking, applying], true],
    [[checking, applying, checking], false],
    [[checking, 'Cannot use this database as it is too new for the server to understand', checking], false],
    [['Cannot use this database as it is too new'], false],
    [[], false],
  ])('%j: %s', (lines, upgrading) => {
    expect(isUpgrading(lines.join('\n'))).toBe(upgrading)
  })
})

describe('row counts', () => {
  test('are read as printed', () => {
    expect(parseCounts('events 12\nusers 3\n\n')).toEqual({ events: 12, users: 3 })
  })

  test('that differ are named; a table that is new does not matter', () => {
    expect(() => assertSameCounts('oak', { events: 12 }, { events: 12, other: 1 })).not.toThrow()
    expect(() => assertSameCounts('oak', { events: 12, users: 3 }, { events: 11 })).toThrow(
      /events has 11 rows instead of 12; users has no rows instead of 3/,
    )
  })
})

describe('the login of a database', () => {
  const view = { box: { slug: 'oak' }, container: () => ({ id: 'db', state: 'running' }) } as unknown as BoxView
  const said = (value: string | undefined) => ({ exitCode: value === undefined ? 1 : 0, stdout: value ? `${value}\n` : '', stderr: '' })
  const ofEnvironment = (environment: Record<string, string>) => {
    const exec = async (_: string, [, name = '']: readonly string[]) => said(environment[name])
    return databaseLogin({ exec } as unknown as ContainerEngine, view)
  }

  test('in a box of our template is the owner, who is not the superuser', async () => {
    const login = await ofEnvironment({ TENANTRY_DATABASE: 'synapse', POSTGRES_USER: 'postgres' })
    expect(login).toEqual({ user: 'synapse', database: 'synapse', superuser: 'postgres' })
    expect(asSuperuser(login)).toMatchObject({ user: 'postgres', database: 'postgres' })
  })

  test.each([
    [
      { POSTGRES_USER: 'chat', POSTGRES_DB: 'matrix' },
      { user: 'chat', database: 'matrix', superuser: 'chat' },
    ],
    [{ POSTGRES_USER: 'chat' }, { user: 'chat', database: 'chat', superuser: 'chat' }],
    [{}, { user: 'postgres', database: 'postgres', superuser: 'postgres' }],
  ])('in a foreign stack comes from the image’s environment: %j', async (environment, login) => {
    expect(await ofEnvironment(environment as Record<string, string>)).toEqual(login)
  })

  test.each([137, 126, 255, -1])(
    'is not guessed from a container that is being stopped (exit code %i), and is read again later',
    async (exitCode) => {
      let stopping = true
      const exec = async (_: string, [, name = '']: readonly string[]) =>
        stopping ? { exitCode, stdout: '', stderr: '' } : said({ TENANTRY_DATABASE: 'synapse' }[name])
      const engine = { exec } as unknown as ContainerEngine
      await expect(databaseLogin(engine, view)).rejects.toMatchObject({ code: 'BOX_UNHEALTHY' })
      stopping = false
      expect(await databaseLogin(engine, view)).toEqual({ user: 'synapse', database: 'synapse', superuser: 'postgres' })
    },
  )
})

describe('an answer that is the same for the life of a container', () => {
  const viewOf = (id: string, state = 'running') => ({ box: { slug: 'oak' }, container: () => ({ id, state }) }) as unknown as BoxView
  const engine = () => ({}) as ContainerEngine

  test('is read once it is there, and again from another container or through another engine', async () => {
    const left = [undefined, 'first', 'second', 'third']
    const read = cachedByContainer('minio', async () => left.shift())
    const one = engine()
    expect(await read(one, viewOf('a'))).toBeUndefined()
    expect([await read(one, viewOf('a')), await read(one, viewOf('a'))]).toEqual(['first', 'first'])
    expect(await read(one, viewOf('b'))).toBe('second')
    expect(await read(engine(), viewOf('a'))).toBe('third')
  })

  test('is not known of a container that stopped, nor after an error', async () => {
    const left = [() => Promise.reject(new Error('killed')), async () => 'first']
    const read = cachedByContainer('minio', () => left.shift()?.() as Promise<string>)
    const one = engine()
    await expect(read(one, viewOf('a'))).rejects.toThrow('killed')
    expect(await read(one, viewOf('a'))).toBe('first')
    await expect(read(one, viewOf('a', 'exited'))).rejects.toMatchObject({ code: 'BOX_UNHEALTHY' })
  })

  test('such as the version of the object store, whose program starts once', async () => {
    let starts = 0
    const exec = async () => ({ exitCode: 0, stdout: `minio version RELEASE.2025-01-0${++starts}\nRuntime: go\n`, stderr: '' })
    const one = { exec } as unknown as ContainerEngine
    for (const _ of [1, 2]) expect(await objectStoreVersion(one, viewOf('a'))).toBe('minio version RELEASE.2025-01-01')
    expect(starts).toBe(1)
  })
})
