import { afterEach, expect, onTestFinished, test } from 'vitest'
import type { Db, Tx } from '../../../src/daemon/db/index.ts'
import { refresh } from '../../../src/daemon/sessions/tokens.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { dyingAt, withTransaction } from '../../support/dying.ts'
import { aChatUser, aSessionsWorld, logIn, type SessionsWorld, twoTenants } from '../../support/sessions-world.ts'

const rooms: SessionsWorld[] = []
afterEach(() => {
  for (const room of rooms.splice(0)) room.stop()
})

async function aRoom(dialect: 'sqlite' | 'postgres') {
  const { db } = await emptyDatabase(dialect)
  const servers = await twoTenants(db)
  await aChatUser(servers.ten_one)
  const room = await aSessionsWorld(db, servers)
  rooms.push(room)
  return { db, room, token: (await logIn(room)).refreshToken as string }
}

const codeOf = (room: SessionsWorld, refreshToken: string) =>
  refresh(room, { refreshToken }).then(
    () => 'ok',
    ({ code, message }: { code?: string; message: string }) => code ?? message,
  )

test('using the old token after a lost answer returns nothing and ends the session like any reuse', async () => {
  const { db, room, token } = await aRoom('sqlite')
  const { refreshToken } = await refresh({ ...room, db: dyingAt(db, 1, 'after').db }, { refreshToken: token })
  expect(await codeOf({ ...room, db: dyingAt(db, 1, 'after').db }, token)).toBe('killed after the commit')
  expect(await codeOf(room, token)).toBe('REFRESH_TOKEN_REUSED')
  expect(await codeOf(room, refreshToken)).toBe('REFRESH_TOKEN_INVALID')
})

test('a commit still running when its connection breaks is waited for', async () => {
  const { db, room, token } = await aRoom('postgres')
  const slow = committingLate(db)
  const clock = { ...room.clock, sleep: slow.commit }
  const { refreshToken } = await refresh({ ...room, db: slow.db, clock }, { refreshToken: token })
  expect(await codeOf(room, refreshToken)).toBe('ok')
})

/** A database whose connection breaks before its first commit, which goes through later. */
function committingLate(db: Db) {
  let [go, said]: (() => void)[] = [() => undefined, () => undefined]
  const going = new Promise<void>((resolve) => {
    go = resolve
  })
  const saying = new Promise<void>((resolve) => {
    said = resolve
  })
  let committing: Promise<unknown> | undefined
  const execute = async (work: (tx: Tx) => Promise<unknown>) => {
    if (committing) return db.transaction().execute(work)
    committing = db.transaction().execute(async (tx) => {
      await work(tx)
      said?.()
      await going
    })
    await saying
    throw new Error('Connection terminated unexpectedly')
  }
  const commit = async () => {
    go?.()
    await committing
  }
  onTestFinished(commit)
  return { db: withTransaction(db, () => ({ execute })), commit }
}
