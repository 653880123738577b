import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../../src/daemon/db/index.ts'

// SQLite plans a statement anew each time it is said when a bound value may decide how it goes about it.

const sqlite = () => {
  const { db, close } = openDatabase('sqlite::memory:')
  onTestFinished(close)
  return db
}

test('a flag that is compared with, and a limit, stand in the text of a statement for SQLite', () => {
  const db = sqlite()
  const { sql, parameters } = db.selectFrom('boxes').select('id').where('live', '=', 1).where('slug', '=', 'elm-school').limit(5).compile()
  expect(sql).toBe('select "id" from "boxes" where "live" = 1 and "slug" = ? limit 5')
  expect(parameters).toEqual(['elm-school'])
})

test('what is not a flag stays a parameter: each value would be another statement', () => {
  const db = sqlite()
  const { sql, parameters } = db.selectFrom('boxes').select('id').where('ownership_epoch', '=', 7).where('slug', '=', '1').compile()
  expect(sql).toBe('select "id" from "boxes" where "ownership_epoch" = ? and "slug" = ?')
  expect(parameters).toEqual([7, '1'])
})

test('what is written stays a parameter, flags too', () => {
  const db = sqlite()
  const { sql } = db.updateTable('boxes').set({ managed: 1, canary: 0 }).where('live', '=', 1).compile()
  expect(sql).toBe('update "boxes" set "managed" = ?, "canary" = ? where "live" = 1')
})
