import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { readNewPassword } from '../../../src/daemon/program/password.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { typist } from '../../support/typist.ts'

const [first, repeat] = ['New password', 'Repeat new password']

const typed = async (answers: readonly (readonly [string, string])[]) => {
  const person = typist(answers)
  const machine = { ...person, env: {}, stdout: { write: () => true }, clock: manualClock(), random: systemRandom }
  const password = await readNewPassword({ ...machine, signal: AbortSignal.timeout(10_000) }, undefined)
  return { password, shown: person.shown(), unasked: person.unasked() }
}

test('a password that was refused leaves nothing in the next prompt', async () => {
  const { password, shown, unasked } = await typed([
    [first, 'too short'],
    [first, 'correct horse battery'],
    [repeat, 'correct horse battery'],
  ])
  expect([password, unasked]).toEqual(['correct horse battery', []])
  expect(shown).toContain('The password must have at least 12 characters. Enter another one.')
  expect(shown).not.toContain('correct horse')
})

test('after a typo in the repetition both are asked again', async () => {
  const { password, shown, unasked } = await typed([
    [first, 'correct horse batery'],
    [repeat, 'correct horse battery'],
    [first, 'correct horse battery'],
    [repeat, 'correct horse battery'],
  ])
  expect([password, unasked]).toEqual(['correct horse battery', []])
  expect(shown).toContain('The passwords do not match. Enter both again.')
})
