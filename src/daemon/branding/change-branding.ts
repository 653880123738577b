import { type BrandingChange, logoLimits } from '../../core/branding/index.ts'
import { isoIn, isoNow, newId, type PlatformPrincipal, pictureOf, problem } from '../../core/kit/index.ts'
import { bytesOf, type Upload } from '../http/index.ts'
import { wholeContent } from '../objects/index.ts'
import { setBrandingIn } from '../tenants/index.ts'
import type { BrandingDeps } from './deps.ts'
import { eraseLogo } from './erase-logos.ts'
import { finishLogo, insertLogo, logoKey, retireLogos } from './logos.repo.ts'
import { ownBranding } from './show-branding.ts'

type Deps = Pick<BrandingDeps, 'db' | 'clock'>

/** Throws CONFLICT while the tenant is deleted. */
export const changeBranding = ({ db, clock }: Deps, actor: PlatformPrincipal, change: BrandingChange) =>
  db.transaction().execute(async (tx) => {
    await setBrandingIn({ tx, clock }, actor, change)
    return ownBranding(tx, actor)
  })

/** An unfinished upload of this age belongs to a dead process. */
const unfinishedMs = 24 * 60 * 60_000

/**
 * Row, object, row: the first row names the object, so that a crash leaves nothing unknown. The logo before is erased. Throws VALIDATION for what is
 * no logo, OBJECT_STORE_UNAVAILABLE, CONFLICT, and the problems of the form.
 */
export async function putLogo(deps: BrandingDeps, actor: PlatformPrincipal, { upload }: Readonly<{ upload: Upload }>) {
  const { db, clock, random, objects } = deps
  const { tenantId } = actor
  const { content, ...image } = pictureOf(await bytesOf(upload), { part: 'file', ...logoLimits })
  const id = newId(random, 'logo')
  await insertLogo(db, { id, tenantId, image, bytes: content.length, at: isoNow(clock), eraseAt: isoIn(clock, unfinishedMs) })
  const { sha256 } = await objects.put(logoKey({ id, tenantId }), wholeContent(content))
  const { retired, shown } = await db.transaction().execute(async (tx) => {
    await setBrandingIn({ tx, clock }, actor, { logoId: id })
    const retired = await retireLogos(tx, { tenantId, at: isoNow(clock) })
    if (!(await finishLogo(tx, { id, sha256 })))
      throw problem('CONFLICT', 'The upload took too long and was cancelled. fix: send the logo again')
    return { retired, shown: await ownBranding(tx, actor) }
  })
  await eraseAll(deps, tenantId, retired)
  return shown
}

/** Removes the logo; without one it changes nothing. */
export async function deleteLogo(deps: BrandingDeps, actor: PlatformPrincipal) {
  const { db, clock } = deps
  const { tenantId } = actor
  const { retired, shown } = await db.transaction().execute(async (tx) => {
    const before = await ownBranding(tx, actor)
    if (before.logoPath === null) return { retired: [], shown: before }
    await setBrandingIn({ tx, clock }, actor, { logoId: null })
    const retired = await retireLogos(tx, { tenantId, at: isoNow(clock) })
    return { retired, shown: await ownBranding(tx, actor) }
  })
  await eraseAll(deps, tenantId, retired)
  return shown
}

async function eraseAll(deps: BrandingDeps, tenantId: string, ids: readonly string[]): Promise<void> {
  for (const id of ids) await eraseLogo(deps, { id, tenantId })
}
