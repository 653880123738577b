import { expect, test } from 'vitest'
import { withdrawalMail } from '../../../src/core/marketplace/index.ts'

const facts = { organisation: 'Lindenschule', item: 'Visitors', timeZone: 'Europe/Berlin', url: 'https://p.example/school/modules' }

test.each([
  ['free', undefined, 'It stays installed until you remove it.'],
  ['paid', '2026-12-31T11:00:00.000Z', /It is paid until .*31 December 2026.*12:00.*\. Then it ends, without another charge\./],
  ['paid, of a period that is not known', null, 'It ends with the period that is paid, without another charge.'],
])('the mail about a withdrawn item that is %s says when it ends', (_, paid, end) => {
  const { subject, text } = withdrawalMail('en', { ...facts, paid })
  expect(subject).toBe('Visitors is no longer offered')
  expect(text).toMatch(end)
  expect(text).toContain('Lindenschule uses Visitors from the marketplace. Its vendor withdrew it: it gets no more updates.')
  expect(text).toContain('Your modules: https://p.example/school/modules')
})
