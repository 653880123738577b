import { expect, test } from 'vitest'
import { isOwnName, NewPassword } from '../../../src/core/users/index.ts'

test.each([
  ...[
    'password',
    'Passwort1',
    'p4ssw0rt',
    'Sommer2026!',
    'iloveyou',
    '12345678',
    '87654321',
    'qwertz123',
    'asdf1234',
    'abc12345',
    '1q2w3e4r',
  ],
  ...['aaaaaaaa', '12121212', 'abcdabcd', 'hallohallo', 'Fußball1', 'SCHALKE04', '  sunshine  ', 'h4ll0123'],
])('%s is refused', (password) => {
  expect(
    NewPassword.safeParse(password)
      .error?.issues.map(({ message }) => message)
      .join(),
  ).toMatch(/common password/)
})

test.each([
  ...['correct horse battery', 'zebra-kiosk-17', 'hk3d-92mx-1qaz-77ab', 'Sommerregen im Mai', 'my password is long enough'],
  // 64 characters, and the 72 bytes that a chat server reads.
  ...['abcdefgh-ijklmnop_qrstuvwx.yz012345-ABCDEFGH_IJKLMNOP.QRSTUVWX+Y9', `${'ä'.repeat(3)}${'correct horse battery '.repeat(3)}`],
])('%s is accepted', (password) => {
  expect(NewPassword.safeParse(password).success).toBe(true)
})

test('a long text is refused without taking time', () => {
  const before = process.cpuUsage()
  expect(NewPassword.safeParse('ab'.repeat(120_000)).success).toBe(false)
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(500)
})

test('ten thousand long passwords of one import are refused in time', () => {
  const before = process.cpuUsage()
  for (let n = 0; n < 10_000; n++) NewPassword.safeParse(`${'abc'.repeat(66)}-`)
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(4000)
})

test('a password is not the name of its user or organisation', () => {
  const names = ['ben.lang', 'Ben Lang', 'anna-schule', null]
  expect(['benlang1', 'Ben Lang!', 'Anna-Schule2026', '2026benlang'].filter((text) => !isOwnName(text, names))).toEqual([])
  expect(['benlang and more', 'langer ben', 'anna geht zur schule'].filter((text) => isOwnName(text, names))).toEqual([])
})
