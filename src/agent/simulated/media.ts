import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { sha256Hex } from '../../core/kit/index.ts'
import type { MediaSample } from '../ports/index.ts'
import type { World } from './world.ts'

const contentOf = (number: number): string => `media file ${number}`

/** The facts of a media file, by its number in the order of uploads. */
export function simulatedMedia(number: number): MediaSample['sample'][number] {
  const content = contentOf(number)
  return {
    path: `local_content/me/di/a-${String(number).padStart(8, '0')}`,
    bytes: content.length,
    sha256: sha256Hex(content),
  }
}

export function storeMedia({ volumes }: World, volume: string | undefined, number: number): void {
  const folder = volume === undefined ? undefined : volumes.path(volume)
  if (folder === undefined) return
  const path = join(folder, simulatedMedia(number).path)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, contentOf(number))
}
