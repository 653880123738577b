import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { trackLastSeen } from '../../../src/daemon/hosts/last-seen.ts'
import { silentLogger } from '../../../src/node/index.ts'
import { onBothDialects } from '../../support/databases.ts'

onBothDialects('the last contact of a host', (fresh) => {
  const setUp = async () => {
    const db = await fresh()
    const clock = manualClock()
    const at = clock.now().toISOString()
    for (const id of ['host_1', 'host_2', 'host_3']) {
      const host = { id, name: id, status: 'active', key_id: id, public_key: '{}', retired_instances: '[]', enrolled_at: at, key_since: at }
      await db
        .insertInto('hosts')
        .values(host as never)
        .execute()
    }
    const see = trackLastSeen({ db, clock, log: silentLogger() })
    const seen = async () => {
      const rows = await db.selectFrom('hosts').select('id').where('last_seen_at', 'is not', null).orderBy('id').execute()
      return rows.map(({ id }) => id)
    }
    const until = async (...ids: string[]) => {
      while ((await seen()).length < ids.length) await new Promise((resolve) => setImmediate(resolve))
      expect(await seen()).toEqual(ids)
    }
    return { clock, see: (id: string, lastSeenAt: string | null = null) => see({ id: id as never, lastSeenAt }), seen, until, at }
  }

  test('is recorded at once; later contacts are recorded together after a second', async () => {
    const { clock, see, seen, until } = await setUp()
    await see('host_1')
    expect(await seen()).toEqual(['host_1'])
    await see('host_2')
    await see('host_3')
    expect(await seen()).toEqual(['host_1'])
    await clock.advance(1000)
    await until('host_1', 'host_2', 'host_3')
  })

  test('is recorded at most every five seconds', async () => {
    const { clock, see, seen, at } = await setUp()
    await clock.advance(4999)
    await see('host_1', at)
    expect(await seen()).toEqual([])
    await clock.advance(1)
    await see('host_1', at)
    expect(await seen()).toEqual(['host_1'])
  })
})
