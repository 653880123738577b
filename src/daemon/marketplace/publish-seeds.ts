import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { FlowBundle } from '../../core/boards/index.ts'
import { parsePart } from '../../core/contract/index.ts'
import { canonicalJson, isoNow, newId, sha256Hex } from '../../core/kit/index.ts'
import { checkFlow, freeSlug, SeedFile } from '../../core/marketplace/index.ts'
import { readUtf8 } from '../../node/index.ts'
import { lockExclusive, type Tx } from '../db/index.ts'
import { tenantIdsAfter } from '../tenants/index.ts'
import { announceItem } from './announce-item.ts'
import { platformVendor } from './change-item.ts'
import type { MarketplaceDeps } from './deps.ts'
import { type ItemRecord, insertItem, lockSeed, replaceItem, takenSlugs } from './items.repo.ts'

type Deps = Pick<MarketplaceDeps, 'db' | 'clock' | 'random' | 'log' | 'roles' | 'seedsDir'>
type Content = Pick<ItemRecord, 'name' | 'description' | 'iconEmoji' | 'category' | 'version' | 'bundle'>

/**
 * Publishes the flows of config/marketplace, at each start of each replica and daily. What is published already changes nothing. An item that an admin
 * changed or archived stays as it is. A broken file is logged, and the others are published.
 */
export async function publishSeeds(deps: Deps): Promise<void> {
  const { db, log, seedsDir } = deps
  const files = await readdir(seedsDir).catch((err: unknown) => {
    log.error({ err }, 'the flows of config/marketplace cannot be read')
    return []
  })
  for (const file of files.filter((name) => name.endsWith('.yaml')).toSorted()) {
    try {
      const content = await readSeed(deps, file)
      await db.transaction().execute((tx) => publishSeed(deps, tx, { key: file.replace(/\.yaml$/, ''), content }))
    } catch (err) {
      log.error({ err, file }, 'a flow of config/marketplace was not published')
    }
  }
}

async function readSeed({ seedsDir, roles }: Pick<Deps, 'seedsDir' | 'roles'>, file: string): Promise<Content> {
  const { bundle: path, ...fields } = parsePart(SeedFile, parse(await readUtf8(join(seedsDir, file))), file)
  const bundle = parsePart(FlowBundle, parse(await readUtf8(join(seedsDir, path))), path)
  checkFlow(bundle, new Set(Object.keys(roles.roles)))
  return { ...fields, bundle }
}

async function publishSeed(deps: Deps, tx: Tx, { key, content }: Readonly<{ key: string; content: Content }>): Promise<void> {
  await lockExclusive(tx, 'marketplace-slugs')
  const former = await lockSeed(tx, key)
  const seedHash = sha256Hex(canonicalJson(content))
  if (former && (former.changedByAdmin || former.seedHash === seedHash)) return
  const now = isoNow(deps.clock)
  const item: ItemRecord = former
    ? { ...former, ...content, seedHash, updatedAt: now }
    : {
        ...{ id: newId(deps.random, 'itm'), itemType: 'flow', slug: freeSlug(key, await takenSlugs(tx, key)), ...content },
        ...{ vendorId: null, vendorName: platformVendor, status: 'published', priceModel: null, priceCents: null, currency: null },
        ...{ paymentProductId: null, paymentPriceId: null, screenshots: [], seedKey: key, seedHash, changedByAdmin: false },
        withdrawnAt: null,
        ...{ publishedAt: now, createdAt: now, updatedAt: now },
      }
  await (former ? replaceItem(tx, item) : insertItem(tx, item))
  const [anyTenant] = await tenantIdsAfter(tx, { after: '', limit: 1 })
  if (anyTenant !== undefined) await announceItem(deps, tx, item.id)
}
