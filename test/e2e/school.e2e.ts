import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { afterEach, beforeAll, expect } from 'vitest'
import { closePages, test } from '../console/browser.ts'
import { assertAccessible, assertClean, type ConsolePage, openPage, screenshots } from '../console/support.ts'
import { aPng } from '../support/images.ts'
import { aStripeMock, hasStripeMock } from '../support/payments/stripe-mock.ts'
import { type Simulated, simulatedTenants } from './support/simulated-tenants.ts'

// docs/school.md as an administrator of a school does it, on a phone first: a real daemon, a simulated chat server, Debian's Chromium.

const phone = { viewport: { width: 390, height: 844 }, locale: 'de-DE', hasTouch: true }
const password = 'correct horse battery'
const closers: (() => void)[] = []

let all: Simulated
let url: string

beforeAll(async () => {
  const more: Record<string, string> = hasStripeMock
    ? { TENANTRY_STRIPE_SECRET_KEY: 'sk_test_123', TENANTRY_STRIPE_API: await aStripeMock((close) => void closers.push(close)) }
    : {}
  all = await simulatedTenants({ more })
  url = all.daemons[0]?.url ?? ''
  await all.tenant('linden', { ida: 'tenant-admin', mara: 'member' })
}, 180_000)
test.afterAll(async ({ browser }) => {
  await closePages(browser)
  await all?.end()
  for (const close of closers) close()
})
afterEach(({ task }) => {
  if (task.result?.state === 'fail') for (const { output } of all.daemons) console.error(output().slice(-3000))
})

const words = {
  de: { tenant: 'Schule', username: 'Anmeldename', password: 'Passwort', login: 'Anmelden', pages: 'Seiten' },
  en: { tenant: 'School', username: 'Login name', password: 'Password', login: 'Log in', pages: 'Pages' },
}

async function logIn(page: Page, username: string, secret = password, language: keyof typeof words = 'de'): Promise<void> {
  const text = words[language]
  await page.getByLabel(text.tenant).fill('linden')
  await page.getByLabel(text.username).fill(username)
  await page.getByLabel(text.password).fill(secret)
  await page.getByRole('button', { name: text.login, exact: true }).click()
}

/** No wider than the window: nothing is cut, and nothing scrolls sideways. */
const assertFits = async (page: Page) =>
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)

async function look(page: ConsolePage, name: string): Promise<void> {
  await assertFits(page)
  await assertAccessible(page)
  await screenshots(page, `school-${name}`)
}

const users = '/api/platform/v1/users'

test('on a phone: create a teacher, end a lock, import a list, read the record', async ({ browser }) => {
  const page = await openPage(browser, { ...phone, acceptDownloads: true })
  await page.goto(`${url}/school/people`)
  await page.getByRole('heading', { name: 'Anmelden' }).waitFor()
  await look(page, 'login')
  await logIn(page, 'ida', 'a wrong password')
  await page.getByText('Schule, Anmeldename oder Passwort stimmen nicht.').waitFor()
  await logIn(page, 'ida')
  await page.getByRole('table', { name: 'Personen' }).waitFor()
  expect(page.url()).toBe(`${url}/school/people`)
  await look(page, 'people')

  await page.getByRole('link', { name: 'Neue Person' }).click()
  await page.getByLabel('Anmeldename').fill('t.berg')
  await page.getByLabel('Name', { exact: true }).fill('Tom Berg')
  await page.getByText('Lehrkraft', { exact: true }).click()
  await page.getByText('Mitglied', { exact: true }).click()
  await look(page, 'new')
  await page.getByRole('button', { name: 'Anlegen' }).click()
  await page.getByRole('heading', { name: 'Tom Berg ist angelegt' }).waitFor()
  const initial = (await page.locator('.password code').textContent()) ?? ''
  expect(initial).toMatch(/^\w{4}(-\w{4}){3}$/)
  await look(page, 'created')
  await page.getByRole('link', { name: 'Person öffnen' }).click()
  await page.getByText('Startpasswort', { exact: true }).waitFor()

  const wrong = { tenant: 'linden', username: 't.berg', password: 'not this one' }
  await Promise.all(Array.from({ length: 10 }, () => all.send('POST', '/api/auth/v1/login', { body: wrong })))
  await page.reload()
  await page.getByText('nach falschen Passwörtern').waitFor()
  await look(page, 'person')
  await page.getByRole('button', { name: 'Anmeldesperre beenden…' }).click()
  await look(page, 'dialog')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Anmeldesperre beenden' }).click()
  await page.getByText('nach falschen Passwörtern').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Sperren…' }).click()
  await page.getByLabel('Grund, für das Protokoll').fill('Elternzeit')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Sperren' }).click()
  await page.getByText('gesperrt', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Entsperren…' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Entsperren' }).click()
  await page.getByText('aktiv', { exact: true }).waitFor()

  const list = join(await mkdtemp(join(tmpdir(), 'tenantry-school-')), 'liste.csv')
  await writeFile(list, 'Benutzername;Vorname;Nachname;Rollen\nmia.kurz;Mia;Kurz;student\nJörg Lang;Jörg;Lang;student\nida;Ida;Alt;\n')
  await page.getByRole('link', { name: 'Personen' }).click()
  await page.getByRole('link', { name: 'Liste importieren' }).click()
  await page.getByLabel('CSV-Datei').setInputFiles(list)
  await look(page, 'import')
  await page.getByRole('button', { name: 'Datei prüfen' }).click()
  await page.getByRole('heading', { name: 'Ergebnis der Prüfung' }).waitFor()
  await page
    .getByText(
      'Der Anmeldename darf nur Kleinbuchstaben, Ziffern und . _ = / + - haben und nicht mit _ beginnen. Abhilfe: joerg.lang schreiben',
    )
    .waitFor()
  await look(page, 'checked')
  const names = async () => (await all.user('linden', 'ida')).ask<{ users: { localpart: string }[] }>('GET', '/users')
  expect((await names()).body.users.map(({ localpart }) => localpart)).not.toContain('mia.kurz')
  await page.getByRole('button', { name: '1 Person anlegen' }).click()
  await page.getByRole('heading', { name: 'Ergebnis des Imports' }).waitFor()
  await page.getByRole('link', { name: 'Protokoll' }).click()
  await page.getByRole('heading', { name: 'Diesen Import verlassen?' }).waitFor()
  await look(page, 'leave-import')
  await page.getByRole('button', { name: 'Abbrechen' }).click()
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Startpasswörter herunterladen' }).click(),
  ])
  expect(await readFile(await file.path(), 'utf8')).toMatch(
    /^\ufeffusername,displayName,password\r\nmia\.kurz,Mia Kurz,\w{4}(-\w{4}){3}\r\n$/,
  )
  await look(page, 'imported')

  await page.getByRole('link', { name: 'Protokoll' }).click()
  const record = page.getByRole('table', { name: 'Protokoll' })
  await record.getByText('Person entsperrt').waitFor()
  await record.getByText('Grund: Elternzeit').waitFor()
  await look(page, 'record')
  await page.getByLabel('Aktion').selectOption('user.unlocked')
  // The heads of columns are not there on a phone.
  await expect.poll(() => record.getByRole('row').count(), { timeout: 20_000 }).toBe(1)
  expect(page.url()).toContain('action=user.unlocked')
  assertClean(page)

  const tom = await openPage(browser, phone)
  await tom.goto(`${url}/school`)
  await logIn(tom, 't.berg', initial)
  await tom.getByRole('heading', { name: 'Passwort wählen' }).waitFor()
  await tom.getByLabel('Neues Passwort', { exact: true }).fill('ein Satz den nur Tom kennt')
  await tom.getByLabel('Neues Passwort noch einmal').fill('ein Satz den nur Tom kennt')
  await look(tom, 'password')
  await tom.getByRole('button', { name: 'Passwort ändern' }).click()
  await tom.getByRole('heading', { name: 'Räume' }).waitFor()
  expect(await tom.getByRole('navigation').getByRole('link').allTextContents()).toEqual(['Räume', 'Boards', 'Konto'])
  await tom.goto(`${url}/school/people`)
  await tom.getByText('Dafür brauchen Sie eine Rolle mit dem Recht: Personen verwalten.').waitFor()
  assertClean(tom)
})

test('in English on a wide window: bills, lists, account and logout', async ({ browser }) => {
  const page = await openPage(browser, { locale: 'en-GB' })
  await page.goto(`${url}/school/bills`)
  await logIn(page, 'ida', password, 'en')
  await page.getByRole('heading', { name: 'Bills' }).waitFor()
  await page.getByText('Nothing is charged this month.').waitFor()
  await look(page, 'bills-wide')
  if (hasStripeMock) {
    await page.getByRole('button', { name: 'Set the means of payment…' }).click()
    await page.getByLabel('Mail address for invoices').fill('office@linden.example')
    await look(page, 'payment-wide')
    const asked = page.waitForResponse((response) => response.url().endsWith('/billing/payment-method'))
    await page.route(/^https:/, (route) => route.fulfill({ body: 'the provider', contentType: 'text/html' }))
    await page.getByRole('alertdialog').getByRole('button', { name: 'Set the means of payment' }).click()
    expect((await asked).status()).toBe(200)
    await page.getByText('the provider').waitFor()
    await page.goto(`${url}/school/bills`)
    await page.getByText('office@linden.example').waitFor()
  }
  for (const [link, heading] of [
    ['Appearance', 'Appearance'],
    ['People', 'People'],
    ['Record', 'Record'],
    ['Spaces', 'Spaces'],
    ['Boards', 'Boards'],
    ['Modules', 'Modules'],
    ['Account', 'ida'],
  ] as const) {
    await page.getByRole('link', { name: link, exact: true }).click()
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
    await expect.poll(() => page.getByRole('status').count(), { timeout: 20_000 }).toBe(0)
    await look(page, `${link.toLowerCase()}-wide`)
  }
  await page.getByLabel('Language').selectOption('de')
  await page.getByRole('heading', { name: 'Passwort ändern' }).waitFor()
  expect(await page.evaluate('document.documentElement.lang')).toBe('de')
  await page.getByRole('button', { name: 'Abmelden' }).click()
  await page.getByRole('heading', { name: 'Anmelden' }).waitFor()
  expect((await all.send('GET', users)).status).toBe(401)
  await page.goto(`${url}/school/people`)
  await page.getByRole('heading', { name: 'Anmelden' }).waitFor()
  assertClean(page)
})

test('bills with charges, paid items and invoices fit a phone and a wide window', async ({ browser }) => {
  const page = await openPage(browser, phone)
  const at = '2026-11-02T09:00:00.000Z'
  const price = { priceCents: 150, currency: 'eur', periodEnd: '2026-12-02T09:00:00.000Z' }
  const item = { id: 'sub_1', itemId: 'item_1', name: 'Besuche planen', status: 'active', ...price }
  const own = {
    plan: { name: 'pro', subscription: { status: 'past_due', currentPeriodEnd: '2026-12-01T00:00:00.000Z' } },
    ...{ billingEmail: 'office@linden.example', hasProvider: true },
    next: {
      ...{ month: '2026-11', totalCents: 6700, currency: 'eur', unbilled: [{ month: '2026-10', cents: 500, currency: 'eur' }] },
      charges: [
        { kind: 'users', subject: 'item_1', name: 'Besuche planen', quantity: 38, unitCents: 150, cents: 5700, currency: 'eur' },
        { kind: 'module', subject: 'attendance', name: 'Anwesenheit', quantity: 1, unitCents: 1000, cents: 1000, currency: 'eur' },
      ],
    },
    subscriptions: [
      { ...item, paymentStatus: 'past_due', priceModel: 'per-active-user' },
      { ...item, id: 'sub_2', name: 'Mensa', status: 'cancelled', paymentStatus: 'ok', priceModel: 'flat-monthly' },
    ],
  }
  const amounts = { totalCents: 11_900, taxCents: 1900, paidCents: 0, currency: 'eur' }
  const links = { pageUrl: 'https://pay.example/in_2', pdfUrl: 'https://pay.example/in_2.pdf' }
  const invoices = [
    { id: 'in_2', number: 'LIN-0002', status: 'open', createdAt: at, dueAt: '2026-11-16T09:00:00.000Z', ...amounts, ...links },
    { id: 'in_1', number: 'LIN-0001', status: 'paid', createdAt: '2026-10-02T09:00:00.000Z', dueAt: null, ...amounts, ...links },
  ]
  await page.route('**/api/platform/v1/billing', (route) => route.fulfill({ json: own }))
  await page.route('**/api/platform/v1/billing/invoices?**', (route) => route.fulfill({ json: { invoices, nextCursor: null } }))
  await page.goto(`${url}/school/bills`)
  await logIn(page, 'ida')
  await page.getByRole('link', { name: 'PDF LIN-0002' }).waitFor()
  await page.getByText('57,00').waitFor()
  await look(page, 'bills')
  await page.setViewportSize({ width: 1280, height: 900 })
  await look(page, 'bills-full-wide')
  assertClean(page)
})

test('maintenance of the chat stands above each page, in the language and the time of the school', async ({ browser }) => {
  const page = await openPage(browser, phone)
  const planned = {
    ...{ maintenanceId: 'mnt_1', status: 'planned', startsAt: '2026-12-01T01:00:00.000Z', endsBy: '2026-12-01T04:00:00.000Z' },
    ...{ expectedDowntimeMs: 3400, isMeasured: true, isEmergency: false, downtimeMs: null, endedAt: null },
    announcedAt: '2026-11-30T01:00:00.000Z',
  }
  const atOnce = { ...planned, maintenanceId: 'mnt_2', endsBy: null, expectedDowntimeMs: 240_000, isMeasured: false }
  const putOff = { ...planned, maintenanceId: 'mnt_3', startsAt: null, endsBy: null }
  const done = { ...planned, maintenanceId: 'mnt_4', status: 'done', downtimeMs: 3000, endedAt: new Date().toISOString() }
  const before = { ...done, maintenanceId: 'mnt_5', status: 'cancelled' }
  const told = { timeZone: 'Europe/Berlin', maintenance: [planned, atOnce, putOff, done, before] }
  await page.route('**/api/platform/v1/maintenance', (route) => route.fulfill({ json: told }))
  await page.goto(`${url}/school/people`)
  await logIn(page, 'mara')
  const notice = page.getByRole('region', { name: 'Wartung' })
  await notice.getByText(/Wartung des Chats: Dienstag, 1\. Dezember 2026.* 02:00.*05:00.* .Europe.Berlin.\. Der Chat/).waitFor()
  await notice.getByText('Der Chat ist etwa 3 Sekunden nicht erreichbar, wie beim letzten Mal gemessen.').waitFor()
  await notice.getByText('Der Chat ist etwa 4 Minuten nicht erreichbar; das ist eine Schätzung.').waitFor()
  await notice.getByText('Die Wartung des Chats ist verschoben. Der neue Zeitpunkt steht noch nicht fest.').waitFor()
  await notice.getByText(/ist beendet: Er war 3 Sekunden nicht erreichbar\./).waitFor()
  expect(await notice.locator('p').count()).toBe(4)
  await look(page, 'maintenance')
  await page.setViewportSize({ width: 1280, height: 900 })
  await look(page, 'maintenance-wide')
  await page.goto(`${url}/school/account`)
  await page.getByLabel('Sprache').selectOption('en')
  await page
    .getByRole('region', { name: 'Maintenance' })
    .getByText('The chat is unavailable for about 3 seconds, as measured last time.')
    .waitFor()
  await look(page, 'maintenance-english')
  assertClean(page)
})

test('on a phone: a colour with its contrast, and a logo that is set, replaced and removed', async ({ browser }) => {
  const page = await openPage(browser, phone)
  await page.goto(`${url}/school/appearance`)
  await logIn(page, 'ida')
  await page.getByLabel('Name in den Apps').fill('Lindenschule')
  await page.getByLabel('Farbe', { exact: true }).fill('#ffee0')
  await page.getByText('Schreiben Sie # und sechs Ziffern').waitFor()
  await page.getByLabel('Farbe', { exact: true }).fill('#FFEE00')
  await page.getByText(/Als Schrift auf Weiß ist sie schlecht zu lesen: Kontrast 1,2 zu 1, nötig sind 4,5\./).waitFor()
  await page.getByText('Text darauf ist schwarz: Kontrast 17,4 zu 1.').waitFor()
  await look(page, 'appearance-yellow')
  await page.getByLabel('Farbe', { exact: true }).fill('#0b5394')
  await page.getByText('Als Schrift auf Weiß ist sie gut zu lesen: Kontrast 7,8 zu 1.').waitFor()
  await page.getByRole('button', { name: 'Speichern' }).click()
  await page.getByText('Gespeichert. Apps zeigen es').waitFor()
  await page.getByRole('banner').getByRole('link', { name: 'Lindenschule' }).waitFor()

  const choose = (name: string, mimeType: string, buffer: Buffer) => page.getByLabel('Bilddatei').setInputFiles({ name, mimeType, buffer })
  await choose('logo.png', 'image/png', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))
  await page.getByText('Die Datei ist kein Bild in PNG, JPEG oder WebP.').waitFor()
  await choose('logo.png', 'image/png', aPng(8, 40))
  await page.getByText('Das Bild hat 8 × 40 Pixel; jede Seite muss 16 bis 2048 haben.').waitFor()
  for (const [width, height] of [
    [300, 120],
    [64, 64],
  ] as const) {
    await choose('logo.png', 'image/png', aPng(width, height))
    await page.getByRole('button', { name: 'Logo hochladen' }).click()
    await page.getByText(`${width} × ${height} Pixel`).waitFor()
    await page.getByRole('img', { name: 'Logo von Lindenschule' }).waitFor()
    const drawn = () => page.evaluate("document.querySelector('.brand-logo')?.naturalWidth")
    await expect.poll(drawn, { timeout: 20_000 }).toBe(width)
  }
  await look(page, 'appearance')
  const { branding } = (await (await all.user('linden', 'mara')).ask<{ branding: { logoPath: string } }>('GET', '/bootstrap')).body
  expect(branding).toMatchObject({ tenantName: 'Lindenschule', color: '#0b5394', textColor: '#ffffff' })
  expect((await fetch(url + branding.logoPath)).headers.get('content-type')).toBe('image/png')
  await page.setViewportSize({ width: 1280, height: 900 })
  await look(page, 'appearance-full-wide')
  await page.getByRole('link', { name: 'Protokoll' }).click()
  await page.getByText('Aussehen: Name: Lindenschule, Farbe: #0b5394').waitFor()
  await page.getByRole('link', { name: 'Aussehen' }).click()
  await page.getByRole('button', { name: 'Logo entfernen…' }).click()
  await look(page, 'appearance-remove-wide')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Logo entfernen' }).click()
  await page.getByText('Noch kein Logo').waitFor()
  expect((await fetch(url + branding.logoPath)).status).toBe(404)
  assertClean(page)
})

test('the first load has at most 150 KB of compressed JavaScript, and no address of operators', async ({ browser }) => {
  const page = await openPage(browser, phone)
  const scripts = new Map<string, Buffer>()
  const reading: Promise<unknown>[] = []
  page.on('response', (response) => {
    if (response.url().endsWith('.js')) reading.push(response.body().then((body) => scripts.set(response.url(), body)))
  })
  await page.goto(`${url}/school/people`)
  await logIn(page, 'ida')
  await page.getByRole('table', { name: 'Personen' }).waitFor()
  await Promise.all(reading)
  const bytes = [...scripts.values()].reduce((sum, body) => sum + gzipSync(body).length, 0)
  console.log(`first load: ${Math.round(bytes / 1000)} KB in ${scripts.size} files`)
  expect(bytes).toBeLessThanOrEqual(150_000)
  for (const body of scripts.values()) expect(body.toString('utf8')).not.toContain('/api/admin/')
})
