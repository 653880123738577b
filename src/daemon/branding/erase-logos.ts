import { isoNow, plural } from '../../core/kit/index.ts'
import type { BrandingDeps } from './deps.ts'
import { claimLogo, deleteLogoRow, dueLogos, logoKey } from './logos.repo.ts'

type Deps = Pick<BrandingDeps, 'db' | 'clock' | 'log' | 'objects'>

/** First the object, then the row that names it. Returns false if it failed: `housekeeping` tries again. */
export async function eraseLogo({ db, clock, log, objects }: Deps, logo: Readonly<{ id: string; tenantId: string }>): Promise<boolean> {
  try {
    if (!(await claimLogo(db, { id: logo.id, now: isoNow(clock) }))) return false
    await objects.remove(logoKey(logo))
    await deleteLogoRow(db, logo.id)
    return true
  } catch (err) {
    log.warn({ err, logoId: logo.id }, 'a logo could not be erased: housekeeping retries')
    return false
  }
}

const maxARun = 500

/** Erases logos that were replaced or removed, and uploads that did not finish within a day. */
export async function eraseDueLogos(deps: Deps, signal: AbortSignal): Promise<string> {
  let erased = 0
  for (const logo of await dueLogos(deps.db, { now: isoNow(deps.clock), limit: maxARun })) {
    if (signal.aborted) break
    if (await eraseLogo(deps, logo)) erased += 1
  }
  return plural(erased, 'old logo')
}
