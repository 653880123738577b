import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BrandingChange, brandingOf, contrast, minContrast, textOn } from '../../../src/core/branding/index.ts'

const color = fc.integer({ min: 0, max: 0xffffff }).map((value) => `#${value.toString(16).padStart(6, '0')}`)

test.each([
  ['#000000', '#ffffff', 21],
  ['#ffffff', '#ffffff', 1],
  ['#0b5394', '#ffffff', 7.8],
  // The grey that just passes, and the one before it.
  ['#767676', '#ffffff', 4.5],
  ['#777777', '#ffffff', 4.4],
])('the contrast of %s and %s is %d', (one, other, expected) => {
  expect([contrast(one, other), contrast(other, one)]).toEqual([expected, expected])
})

test('text on any colour is readable in black or in white', () => {
  fc.assert(fc.property(color, (one) => contrast(one, textOn(one)) >= minContrast))
  expect([textOn('#ffee00'), textOn('#0b5394')]).toEqual(['#000000', '#ffffff'])
})

test('a branding has a text colour with its colour alone, and the path of its logo', () => {
  const none = { tenantName: 'One', color: null, logoId: null }
  expect(brandingOf(none)).toEqual({ tenantName: 'One', color: null, textColor: null, logoPath: null })
  expect(brandingOf({ ...none, color: '#0b5394', logoId: 'logo_1' })).toMatchObject({
    textColor: '#ffffff',
    logoPath: '/api/public/logos/logo_1',
  })
})

test.each(['0b5394', '#0b539', '#0b53945', '#0b539g', 'red', '#0b5394;', 'url(x)', ''])('%j is no colour', (text) => {
  expect(BrandingChange.safeParse({ color: text }).success).toBe(false)
})

test('a colour is stored in lower case, and a change changes something', () => {
  expect(BrandingChange.parse({ color: '#FFEE00' })).toEqual({ color: '#ffee00' })
  expect(BrandingChange.parse({ color: null })).toEqual({ color: null })
  expect(BrandingChange.safeParse({}).success).toBe(false)
})
