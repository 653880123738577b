import { expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { migrate } from '../../../src/daemon/db/index.ts'
import { migrations } from '../../../src/daemon/db/migrations/index.ts'
import { onBothDialects } from '../../support/databases.ts'

onBothDialects('migrations', (fresh) => {
  test('applying them again changes nothing', async () => {
    const db = await fresh()
    await migrate(db)
    expect(await db.selectFrom('leases').selectAll().execute()).toEqual([])
  })

  test('a database written by a newer program is refused by name', async () => {
    const db = await fresh()
    await migrate(db, [...migrations, { name: '9999-future', up: async () => undefined }])
    await expect(migrate(db)).rejects.toSatisfy((error) => isProblem(error, 'DATABASE_NEWER') && error.message.includes('9999-future'))
  })
})
