import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { jsonArrayHas } from '../../../src/daemon/db/index.ts'
import { onBothDialects } from '../../support/databases.ts'

onBothDialects('arrays in JSON', (fresh) => {
  test('have a text exactly, whatever signs it has, and under their own key alone', async () => {
    const db = await fresh()
    const texts = ['a_b', 'aXb', 'a%b', 'say "hi"', 'back\\slash', 'Grüße', 'a\nb']
    const rows = texts.map((text) => JSON.stringify({ roles: [text], users: ['other'] }))
    const values = sql.join(rows.map((row) => sql`(${row})`))
    for (const [nth, text] of texts.entries()) {
      const found = await sql<{ readers: string }>`with given (readers) as (values ${values}) select readers from given
        where ${jsonArrayHas(db, { column: 'readers', key: 'roles' }, [text, 'nobody'])}`.execute(db)
      expect(found.rows).toEqual([{ readers: rows[nth] }])
    }
    const others = await sql`with given (readers) as (values ${values}) select 1 from given
      where ${jsonArrayHas(db, { column: 'readers', key: 'roles' }, ['other'])}`.execute(db)
    expect(others.rows).toEqual([])
  })
})
