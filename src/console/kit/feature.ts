import type { ComponentType } from 'react'
import type { AdminRole } from '../../core/contract/index.ts'
import type { Tone } from './status.tsx'

/** One page. Its file exports `Page` and is loaded when it is opened. */
export type ConsolePage = Readonly<{
  /** Below /console, in the form of the router: `/boxes/$slug`. */
  path: string
  /** Title of the window; a page with a name in its path sets its own by `PageHeader`. */
  title: string
  load(): Promise<{ Page: ComponentType }>
  /** Its place in the navigation; a page without one is reached from another. */
  nav?: Readonly<{ group: NavGroup; label: string; order: number; shortcut?: string; useBadge?(): Badge | undefined }>
  /** The lowest role that may open it. */
  role?: AdminRole
}>

/** A number beside the label in the navigation, with its meaning in words. */
export type Badge = Readonly<{ count: number; label: string; tone: Tone }>

export const navGroups = ['Now', 'Fleet', 'Platform', 'System'] as const
export type NavGroup = (typeof navGroups)[number]

export type ConsoleFeature = Readonly<{
  name: string
  pages: readonly ConsolePage[]
  /** The first parts of query keys to ask for again, by the beginning of an event's type: `{ 'rollout.': ['rollouts'] }`. */
  live?: Readonly<Record<string, readonly string[]>>
  /** Actions that need no name of a box or rollout. */
  actions?: readonly PaletteEntry[]
  /** More entries of the palette, for what is typed there. */
  search?(text: string): Promise<readonly PaletteEntry[]>
}>

export type PaletteEntry = Readonly<{
  id: string
  label: string
  detail?: string
  to: string
  /** An action: what a page does when it is asked to, by the name that it gives to `usePaletteAction`. It still asks before it acts. */
  asks?: string
  /** The lowest role that may; others only open the page. */
  role?: AdminRole
}>

/** Declares what a feature adds to the console. */
export const consoleFeature = (feature: ConsoleFeature): ConsoleFeature => feature
