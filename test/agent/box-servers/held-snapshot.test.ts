import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import type { BoxView } from '../../../src/agent/box-servers/box-view.ts'
import { lockWaitMs, withExportedSnapshot } from '../../../src/agent/box-servers/dump.ts'
import type { ContainerEngine, ExecResult } from '../../../src/agent/ports/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { emptyDatabase } from '../../support/databases.ts'

const login = { user: 'synapse', database: 'synapse', superuser: 'postgres' }
const view = { box: { slug: 'oak' }, container: () => ({ id: 'c1', state: 'running' }) } as unknown as BoxView

/** A psql that answers with delays and records what happened. */
function aSession(answers: Readonly<Record<string, string>>) {
  const events: string[] = []
  let end: (result: ExecResult) => void = () => undefined
  let sessions = 0
  const exec: ContainerEngine['exec'] = (_, __, options = {}) => {
    sessions += 1
    let close: typeof end = () => undefined
    const ended = new Promise<ExecResult>((resolve) => {
      close = resolve
    })
    end = close
    let stdout = ''
    void (async () => {
      for await (const part of options.stdin as Readable) {
        const [question, answer] = Object.entries(answers).find(([asked]) => String(part).includes(asked)) ?? []
        if (question === undefined) continue
        events.push(question)
        stdout += answer
        // In two parts, as a network delivers it.
        options.onStdout?.(Buffer.from((answer ?? '').slice(0, 3)))
        options.onStdout?.(Buffer.from((answer ?? '').slice(3)))
      }
      events.push('end')
      close({ exitCode: 0, stdout, stderr: '' })
    })()
    return ended
  }
  const die = (stderr = 'psql: error\nserver closed the connection unexpectedly\n') => end({ exitCode: 2, stdout: '', stderr })
  return { events, sessions: () => sessions, die, run: { engine: { exec } as unknown as ContainerEngine, view, login } }
}

const answers = { pg_export_snapshot: '00000003-0000001B-1\n', 'count the rows': 'events 3\nrooms 1\n' }

test('the question about a moment is answered beside the work on it, and the moment is held open until the work is done', async () => {
  const { run, events } = aSession(answers)
  const answer = await withExportedSnapshot(run, 'count the rows;\n', async (name) => {
    while (!events.includes('count the rows')) await new Promise((resolve) => setImmediate(resolve))
    events.push(`work on ${name}`)
    await new Promise((resolve) => setImmediate(resolve))
  })
  expect(answer).toBe('events 3\nrooms 1\n')
  expect(events).toEqual(['pg_export_snapshot', 'count the rows', 'work on 00000003-0000001B-1', 'end'])
})

test('failed work ends the session, and its error is thrown', async () => {
  const { run, events } = aSession(answers)
  const failed = withExportedSnapshot(run, 'count the rows;\n', () => Promise.reject(new Error('pg_dump')))
  await expect(failed).rejects.toThrow('pg_dump')
  expect(events).toEqual(['pg_export_snapshot', 'count the rows', 'end'])
})

test('work that fails does not wait until the rows are counted', async () => {
  const exec: ContainerEngine['exec'] = (_, __, { onStdout, signal } = {}) => {
    onStdout?.(Buffer.from('00000003-0000001B-1\n'))
    return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  }
  const run = { engine: { exec } as unknown as ContainerEngine, view, login }
  const failed = withExportedSnapshot(run, 'count the rows;\n', () => Promise.reject(new Error('pg_dump')))
  await expect(failed).rejects.toThrow('pg_dump')
})

test('the session sets a client connection check where supported, and the lock timeout of a dump', async () => {
  let said = ''
  const exec: ContainerEngine['exec'] = async (_, __, { stdin } = {}) => {
    said = String((stdin as Readable).read() ?? (await once(stdin as Readable, 'data'))[0])
    return { exitCode: 2, stdout: '', stderr: 'enough' }
  }
  const run = { engine: { exec } as unknown as ContainerEngine, view, login }
  await expect(withExportedSnapshot(run, '', async () => undefined)).rejects.toMatchObject({ code: 'SNAPSHOT_FAILED' })
  const { db } = await emptyDatabase('postgres')
  onTestFinished(() => db.destroy())
  const settings = await db.connection().execute(async (one) => {
    await sql.raw(said.slice(0, said.indexOf('begin isolation level'))).execute(one)
    return (
      await sql`select current_setting('client_connection_check_interval') as looks, current_setting('lock_timeout') as waits`.execute(one)
    ).rows
  })
  expect(settings).toEqual([{ looks: '1s', waits: `${lockWaitMs / 1000}s` }])
})

test('a session that ends before it returns a snapshot id fails, and no work begins', async () => {
  const { run, die } = aSession({})
  let begun = false
  const failed = withExportedSnapshot(run, 'count the rows;\n', async () => {
    begun = true
  })
  die()
  await expect(failed).rejects.toMatchObject({ code: 'SNAPSHOT_FAILED', message: expect.stringContaining('server closed the connection') })
  expect(begun).toBe(false)
})

test('a session that ended during the work fails, because its counts may belong to another moment', async () => {
  const { run, die } = aSession(answers)
  const failed = withExportedSnapshot(run, 'count the rows;\n', async () => die())
  await expect(failed).rejects.toMatchObject({ code: 'SNAPSHOT_FAILED' })
})

test('a table dropped between listing and locking leads to a retry with a new snapshot', async () => {
  const { run, die, sessions } = aSession({ ...answers })
  const first = withExportedSnapshot(run, 'count the rows;\n', async () => undefined)
  die('psql:<stdin>:5: ERROR:  relation "public._temp_x" does not exist\n')
  expect(await first).toBe('events 3\nrooms 1\n')
  expect(sessions()).toBe(2)
})

test('another failure of the session is not tried again', async () => {
  const { run, die, sessions } = aSession({})
  const failed = withExportedSnapshot(run, 'count the rows;\n', async () => undefined)
  die('psql:<stdin>:1: ERROR:  permission denied\nLINE 1: select\n')
  await expect(failed).rejects.toMatchObject({ message: expect.stringContaining('permission denied') })
  expect(sessions()).toBe(1)
})

const changed = problem('SNAPSHOT_FAILED', 'pg_dump of oak ended with exit code 1: canceling statement due to statement timeout')

test('work that a change of a table stood in the way of is done again at a later moment, and its first session was let go', async () => {
  const { run, events } = aSession(answers)
  const tries: string[] = []
  const answer = await withExportedSnapshot(run, 'count the rows;\n', async (name) => {
    if (tries.push(name) === 1) throw changed
  })
  expect(answer).toBe('events 3\nrooms 1\n')
  expect(tries).toHaveLength(2)
  expect(events.indexOf('end')).toBeLessThan(events.lastIndexOf('pg_export_snapshot'))
})

test('so it is where the session and a change waited for each other, and the server ended the session', async () => {
  const { run, die, sessions } = aSession(answers)
  const first = withExportedSnapshot(run, 'count the rows;\n', async () => undefined)
  die('psql:<stdin>:10: ERROR:  deadlock detected\nDETAIL:  Process 7 waits for AccessShareLock on relation 16385\n')
  expect(await first).toBe('events 3\nrooms 1\n')
  expect(sessions()).toBe(2)
})

test('a table that keeps changing fails the dump with a fix', async () => {
  const { run, sessions } = aSession(answers)
  const failed = withExportedSnapshot(run, 'count the rows;\n', () => Promise.reject(changed))
  const message = `A table of oak was being changed in all 6 attempts (${changed.message}). fix: retry when the schema change is done`
  await expect(failed).rejects.toMatchObject({ code: 'SNAPSHOT_FAILED', message, cause: changed })
  expect(sessions()).toBe(6)
})

test('a missing database is reported as such', async () => {
  const { run, sessions } = aSession(answers)
  const lacks = problem('SNAPSHOT_FAILED', 'pg_dump of oak ended with exit code 1: role "synapse" does not exist')
  await expect(withExportedSnapshot(run, 'count the rows;\n', () => Promise.reject(lacks))).rejects.toBe(lacks)
  expect(sessions()).toBe(6)
})
