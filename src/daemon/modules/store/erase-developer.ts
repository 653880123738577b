import { sql } from 'kysely'
import { erasedName } from '../../../core/privacy/index.ts'
import { contains, type Db } from '../../db/index.ts'

/** Removes an erased user from its developer account and from its reviews. Submissions and approved modules stay. */
export const eraseDeveloper = (db: Db, { id }: Readonly<{ id: string }>): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await tx
      .updateTable('store_developers')
      .set({ user_id: null, email: '', name: erasedName, organization: '' })
      .where('user_id', '=', id)
      .execute()
    await tx
      .updateTable('store_submissions')
      .set({ review: sql`replace(review, ${id}, ${erasedName})` })
      .where(contains('review', id))
      .execute()
  })
