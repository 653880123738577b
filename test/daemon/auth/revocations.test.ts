import { expect, test, vi } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { publishRevocation, type Revoked } from '../../../src/daemon/auth/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { watchedRevocations } from '../../support/loops.ts'

const revokeOne = (db: Db, clock = manualClock(), subject = 'ses_1') =>
  db.transaction().execute((tx) => publishRevocation(tx, clock, { kind: 'admin-session', subject }))

onBothDialects('revocations', (fresh) => {
  test('another replica hears of a revocation at its next read, half a second later', async () => {
    const [db, clock, abort] = [await fresh(), manualClock(), new AbortController()]
    await revokeOne(db, clock, 'before the watch')
    const watch = await watchedRevocations({ db, clock }, abort.signal)
    const heard: (Revoked | 'everything')[] = []
    watch.onRevoked((revoked) => heard.push(revoked))
    await revokeOne(db, clock)
    await clock.advance(500)
    await vi.waitFor(() => expect(heard).toEqual([{ kind: 'admin-session', subject: 'ses_1' }]), { timeout: 15_000 })
    abort.abort()
  })

  test('without a read for more than a second nothing in memory is believed, and after the gap all of it is dropped', async () => {
    const [db, clock, abort] = [await fresh(), manualClock(), new AbortController()]
    const watch = await watchedRevocations({ db, clock }, abort.signal)
    await watch.readNow()
    abort.abort() // the reader is gone; time goes on
    await clock.advance(1000)
    expect(watch.fresh()).toBe(true)
    await clock.advance(1)
    expect(watch.fresh()).toBe(false)
    const heard: unknown[] = []
    watch.onRevoked((revoked) => heard.push(revoked))
    await watch.readNow()
    expect([watch.fresh(), heard]).toEqual([true, ['everything']])
  })

  test('every concurrent revocation is heard once, in order', async () => {
    const [db, clock, abort] = [await fresh(), manualClock(), new AbortController()]
    const watch = await watchedRevocations({ db, clock }, abort.signal)
    const heard: string[] = []
    watch.onRevoked((revoked) => heard.push(revoked === 'everything' ? revoked : revoked.subject))
    const subjects = Array.from({ length: 20 }, (_, n) => `ses_${n}`)
    await Promise.all(subjects.flatMap((subject) => [revokeOne(db, clock, subject), watch.readNow()]))
    await watch.readNow()
    expect([...heard].sort()).toEqual([...subjects].sort())
    expect(watch.position()).toBe(20)
    abort.abort()
  })
})
