import { brandingOf, contrast, type OwnBranding } from '../../core/branding/index.ts'
import { type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import type { DbOrTx } from '../db/index.ts'
import type { FileBody } from '../http/index.ts'
import { existingTenant } from '../tenants/index.ts'
import type { BrandingDeps } from './deps.ts'
import { findLogo, logoKey } from './logos.repo.ts'

/** The appearance of the caller's tenant, with what its administration wants to know of it. */
export async function ownBranding(db: DbOrTx, { tenantSlug }: PlatformPrincipal): Promise<OwnBranding> {
  const { branding } = await existingTenant(db, tenantSlug)
  const { color, logoId } = branding
  const logo = logoId === null ? undefined : await findLogo(db, logoId)
  return {
    ...brandingOf(branding),
    contrast: color === null ? null : { onWhite: contrast(color, '#ffffff'), onBlack: contrast(color, '#000000') },
    logo: logo ? { contentType: logo.content_type, bytes: logo.bytes, width: logo.width, height: logo.height } : null,
  }
}

/** A removed logo is shown for so long by those who have it already. */
const cacheSeconds = 86_400

/** Every caller who knows the id may see it: a logo is public, and apps show it before a login. Throws NOT_FOUND, OBJECT_STORE_UNAVAILABLE. */
export async function showLogo(
  { db, objects }: Pick<BrandingDeps, 'db' | 'objects'>,
  { logoId }: Readonly<{ logoId: string }>,
): Promise<FileBody> {
  const logo = await findLogo(db, logoId)
  if (!logo) throw problem('NOT_FOUND', `Logo ${logoId} does not exist, or was replaced`)
  const { content_type: contentType, bytes, sha256 } = logo
  return {
    ...{ fileName: `logo.${contentType.slice('image/'.length)}`, contentType, inline: true },
    ...{ bytes, etag: `"${sha256?.slice(0, 32)}"`, cacheSeconds },
    async open(range) {
      const content = await objects.get(logoKey({ id: logoId, tenantId: logo.tenant_id }), range)
      if (!content) throw problem('NOT_FOUND', `Logo ${logoId} is missing in the object store. fix: upload it again`)
      return content
    },
  }
}
