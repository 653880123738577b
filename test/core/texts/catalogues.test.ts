import { expect, test } from 'vitest'
import { catalogues, durationIn, textIn, textLanguageOf, timeIn } from '../../../src/core/texts/index.ts'

const placeholders = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).toSorted()
const english: Readonly<Record<string, string>> = catalogues.en

test.each(Object.entries(catalogues))('the catalogue %s has every key, with the placeholders of the English text', (_, catalogue) => {
  const texts: Readonly<Record<string, string>> = catalogue
  expect(Object.keys(texts)).toEqual(Object.keys(english))
  for (const [key, text] of Object.entries(texts)) {
    expect([key, placeholders(text)]).toEqual([key, placeholders(english[key] ?? '')])
    expect([key, text.trim(), text.includes('\n')]).toEqual([key, text, false])
  }
})

test('no language but English repeats an English text', () => {
  for (const [language, catalogue] of Object.entries(catalogues))
    if (language !== 'en')
      for (const [key, text] of Object.entries(catalogue)) expect([language, key, text]).not.toEqual([language, key, english[key]])
})

test('Arabic texts begin and end in Arabic script or a placeholder', () => {
  for (const [key, text] of Object.entries(catalogues.ar)) expect([key, /\p{Script=Arabic}/u.test(text)]).toEqual([key, true])
})

test.each([
  ['de', 'de'],
  ['de-AT', 'de'],
  ['fr_CA', 'fr'],
  ['TR-tr', 'tr'],
  ['ar', 'ar'],
  ['en-US', 'en'],
  ['pl-PL', 'en'],
  ['den', 'en'],
  ['constructor', 'en'],
  ['', 'en'],
  [null, 'en'],
])('the locale %s gets the catalogue %s', (locale, language) => {
  expect(textLanguageOf(locale)).toBe(language)
})

test('a value is filled in once, in one line, whatever is in it', () => {
  const organisation = 'Schule\r\nBcc: all@x {username} $&'
  expect(textIn('en', 'reset.subject', { organisation })).toBe('Your password for Schule Bcc: all@x {username} $&')
  expect(textIn('de', 'link.valid', { username: 'anna' })).toBe('Ihr Anmeldename ist anna. Der Link gilt einmal, bis {until}.')
})

test('times go by the clock of the organisation, durations are rounded for people', () => {
  const at = '2026-03-30T00:05:00.000Z'
  expect(timeIn('de', { from: at, timeZone: 'Europe/Berlin' })).toMatch(/^Montag, 30\. März 2026.* 02:05 \(Europe\/Berlin\)$/)
  expect(timeIn('ar', { from: at, timeZone: 'UTC' })).toMatch(/30 .*2026.*12:05.*\(UTC\)$/)
  expect(timeIn('tr', { from: at, timeZone: 'UTC' })).toMatch(/^30 Mart 2026 .*00:05 \(UTC\)$/)
  const night = { from: at, to: '2026-03-30T03:05:00.000Z', timeZone: 'Europe/Berlin' }
  expect(timeIn('de', night)).toMatch(/^Montag, 30\. März 2026.* 02:05.*05:05.* \(Europe\/Berlin\)$/)
  expect(timeIn('de', { ...night, to: '2026-03-31T03:05:00.000Z' })).toMatch(/^Montag.*Dienstag, 31\. März/)
  expect([400, 3_400, 90_000, 90_001, 200_000].map((ms) => durationIn('de', ms))).toEqual([
    '1 Sekunde',
    '3 Sekunden',
    '90 Sekunden',
    '2 Minuten',
    '4 Minuten',
  ])
  expect(durationIn('ar', 3_000)).toContain('3')
})
