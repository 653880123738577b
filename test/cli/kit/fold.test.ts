import { expect, test } from 'vitest'
import { fold } from '../../../src/cli/kit/fold.ts'

test('a line that is too wide breaks at a space, and goes on with its indent', () => {
  expect(fold('  nothing was lost here\nshort', 14)).toBe('  nothing was\n  lost here\nshort')
})

test('a command to copy stays in one piece', () => {
  expect(fold('see what it does: tenantry rollouts plan', 30)).toBe('see what it does:\ntenantry rollouts plan')
  expect(fold('type `tenantry rollouts plan` and look', 24)).toBe('type\n`tenantry rollouts plan`\nand look')
})

test('colours take no room, and text for a pipe is left alone', () => {
  expect(fold('\u001b[31merror:\u001b[39m no', 9)).toBe('\u001b[31merror:\u001b[39m no')
  expect(fold('a b c', Number.POSITIVE_INFINITY)).toBe('a b c')
})
