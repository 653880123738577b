import { expect, onTestFinished, test } from 'vitest'
import { isFirefoxInstalled, openFirefox } from './firefox.ts'
import { anAccountOf, openConsoleStage } from './support.ts'

const field = (label: string) => `//label[normalize-space()='${label}']/following::input[1]`
const text = (words: string) => `//*[normalize-space(text())='${words}']`

test('in Firefox: the login is refused and granted, the overview shows the fleet, and the policy holds', async ({ skip }) => {
  if (!isFirefoxInstalled) skip('needs Firefox: apt-get install firefox-esr')
  const [stage, firefox] = await Promise.all([openConsoleStage({ boxes: 2 }), openFirefox()])
  onTestFinished(async () => {
    await firefox.close()
    await stage.close()
  })
  const { name, password } = await anAccountOf(stage, 'viewer')
  await firefox.go(`${stage.url}/console/`)
  await firefox.type(field('Name'), name)
  await firefox.type(field('Password'), 'wrong')
  await firefox.click(`//button[normalize-space()='Log in']`)
  await firefox.see(text('LOGIN_FAILED'))
  await firefox.run(
    `window.violations = []; addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective))`,
  )
  await firefox.type(field('Password'), `${'\ue003'.repeat(5)}${password}`)
  await firefox.click(`//button[normalize-space()='Log in']`)
  await firefox.see(`//nav[@aria-label='Pages']`)
  await firefox.see(`//h1[normalize-space()='Overview']`)
  await firefox.see(text('2 boxes'))
  await firefox.see(`//*[contains(@class,'as-of')][contains(.,'as of ')]`)
  // Live: the event stream is open, and an event changes the page.
  await stage.api.boxes.maintainBox({ params: { slug: 'kita-regenbogen' }, body: { on: true, reason: 'a look' } })
  await firefox.click(`//nav//a[normalize-space()='Boxes']`)
  await firefox.see(`//*[@role='table'][@aria-label='Boxes']//*[contains(.,'maintenance')]`)
  expect(await firefox.run('return [violations, document.cookie]')).toEqual([[], ''])
  await firefox.click(`//button[normalize-space()='Log out']`)
  await firefox.see(`//h1[normalize-space()='Log in']`)
})
