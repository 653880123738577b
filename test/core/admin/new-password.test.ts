import { expect, test } from 'vitest'
import { NewPassword } from '../../../src/core/admin/index.ts'

test.each([
  ...['passwordpassword', 'Passwort123456', 'aaaaaaaaaaaa', 'abcabcabcabcabc', '123456789012', 'admin-admin-1', 'qwertyqwerty12'],
  ...['Welcome2026!!', 'letmein letmein', 'changemechangeme', 'abcdefghijklm', 'Willkommen123', 'tenantryadmin1'],
])('%s is refused as easily guessed', (password) => {
  expect(NewPassword.safeParse(password).error?.issues[0]?.message).toContain('easily guessed')
})

test.each(['a long password for benches', 'correct horse battery', 'kX7-pq2-Lm9-vv4', 'MeinHundHeisstBello'])(
  '%s is accepted',
  (password) => {
    expect(NewPassword.safeParse(password).success).toBe(true)
  },
)
