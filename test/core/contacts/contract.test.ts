import { expect, test } from 'vitest'
import { contactsContract } from '../../../src/core/contacts/index.ts'

const searched = (search: string) => contactsContract.listContacts.query.safeParse({ search })

test.each([' ', '\u0301', '\u0301 \u0308', '\u00a8'])(
  'a search of which nothing counts is refused by its name, as an empty one is: %j',
  (search) => {
    expect(searched(search).error?.issues[0]?.path).toEqual(['search'])
  },
)

test.each(['e', 'e\u0301', '\u0301e', '%', '-'])('whatever can stand in a name is looked for: %j', (search) => {
  expect(searched(search).success).toBe(true)
})
