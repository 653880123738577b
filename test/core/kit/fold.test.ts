import { expect, test } from 'vitest'
import { fold, foldBeside } from '../../../src/core/kit/index.ts'

test('a line that is too wide wraps at a space and keeps its indent', () => {
  expect(fold('  nothing was lost here\nshort', 14)).toBe('  nothing was\n  lost here\nshort')
})

test('a command is not split', () => {
  expect(fold('see what it does: tenantry rollouts plan', 30)).toBe('see what it does:\ntenantry rollouts plan')
  expect(fold('first tenantry rollouts plan; then look', 24)).toBe('first\ntenantry rollouts plan;\nthen look')
  expect(fold("tenantry rollouts create --reason 'a; b' --wait; look", 20)).toBe("tenantry rollouts create --reason 'a; b' --wait;\nlook")
  expect(fold('type `tenantry rollouts plan` and look', 24)).toBe('type\n`tenantry rollouts plan`\nand look')
})

test.each(['2 h 13 min', '3 min 20 s', '840 ms', '12 s'])('a duration is not split: %s', (took) => {
  const whole = [`it took about`, `${took} in all`]
  for (let width = 14; width < 24; width++) expect(fold(whole.join(' '), width).replaceAll('\n', '|')).toContain(took)
})

test('an indent stays with colours, and overlong text stays below its name', () => {
  const [dim, plain] = ['\u001b[2m', '\u001b[22m']
  expect(fold(`${dim}  backup${plain}  /a/very/long/path`, 14)).toBe(
    `${dim}  backup${plain}\n  /a/very/long/path`.replace(`${dim}  `, `  ${dim}`),
  )
  expect(fold(`${dim}    ${plain}  {"one":"long","word":1}`, 14)).toBe(`      ${dim}${plain}{"one":"long","word":1}`)
})

test('colours have no width, and text for a pipe is unchanged', () => {
  expect(fold('\u001b[31merror:\u001b[39m no', 9)).toBe('\u001b[31merror:\u001b[39m no')
  expect(fold('a b c', Number.POSITIVE_INFINITY)).toBe('a b c')
})

test('text beside a name continues below itself, at any width', () => {
  expect(foldBeside('! disk  ', 'free some space: an update needs room', 24)).toBe(
    '! disk  free some space:\n        an update needs\n        room',
  )
  expect(foldBeside('! disk  ', 'a b', 3)).toBe('! disk  a\n        b')
  expect(foldBeside('! disk  ', 'a b', Number.POSITIVE_INFINITY)).toBe('! disk  a b')
})
