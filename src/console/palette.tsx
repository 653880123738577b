import { useQueries } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useDeferredValue, useEffect, useState } from 'react'
import { Autocomplete, Dialog, Input, Menu, MenuItem, Modal, ModalOverlay, SearchField } from 'react-aria-components'
import { type AdminRole, roleAtLeast } from '../core/contract/index.ts'
import { type PaletteEntry, parseSearch, Scroll, useRole } from './kit/index.ts'
import { features } from './pages.ts'

const searches = features.filter(({ search }) => search !== undefined)
const minLetters = 2

/** Ctrl-K: pages and actions by name, and what the features find for the text: boxes, tenants, rollouts and what to do with them. */
// biome-ignore lint/style/noDefaultExport: React loads it when it is first opened
export default function Palette({ onClose }: Readonly<{ onClose(): void }>) {
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const entries = useEntries(text)
  useEscape(onClose)
  const go = (id: string) => {
    const entry = entries.find((one) => one.id === id)
    if (!entry) return
    const [path = '/', query = ''] = entry.to.split('?', 2)
    onClose()
    void navigate({ to: path, search: { ...parseSearch(query), ...(entry.asks ? { do: entry.asks } : {}) } as never })
  }
  return (
    <ModalOverlay className="overlay" isOpen isDismissable onOpenChange={(open) => !open && onClose()}>
      <Modal className="modal">
        <Dialog className="palette" aria-label="Search and commands">
          <Autocomplete inputValue={text} onInputChange={setText}>
            <SearchField aria-label="Page, box or tenant" autoFocus>
              <Input placeholder="Go to a page, box or tenant, or do something" />
            </SearchField>
            <Scroll className="menu-scroll">
              <Menu
                className="menu"
                aria-label="Found"
                items={entries}
                onAction={(key) => go(String(key))}
                renderEmptyState={() => <p className="menu-empty">Nothing found.</p>}
              >
                {({ id, label, detail }) => (
                  <MenuItem id={id} className="menu-item" textValue={label}>
                    <span>{label}</span>
                    <span className="dim">{detail}</span>
                  </MenuItem>
                )}
              </Menu>
            </Scroll>
          </Autocomplete>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

/** One Escape closes: the field would take the first one to clear its text. */
function useEscape(onEscape: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => event.key === 'Escape' && onEscape()
    addEventListener('keydown', onKey, { capture: true })
    return () => removeEventListener('keydown', onKey, { capture: true })
  }, [onEscape])
}

/** An action that the role may not take says so, and only opens its page. */
function allowed(entry: PaletteEntry, role: AdminRole): PaletteEntry {
  if (!entry.role || roleAtLeast(role, entry.role)) return entry
  const { asks: _, ...page } = entry
  return { ...page, detail: `requires the role ${entry.role}` }
}

function useEntries(text: string): readonly PaletteEntry[] {
  const role = useRole()
  const wanted = useDeferredValue(text.trim().toLowerCase())
  const found = useQueries({
    queries: searches.map(({ name, search }) => ({
      queryKey: ['palette', name, wanted],
      queryFn: () => search?.(wanted) ?? [],
      enabled: wanted.length >= minLetters,
      refetchInterval: false as const,
      staleTime: 10_000,
    })),
  })
  const pages = features
    .flatMap(({ pages }) => pages)
    .flatMap(({ path, nav, role: lowest = 'viewer' }) =>
      nav && roleAtLeast(role, lowest) && nav.label.toLowerCase().includes(wanted)
        ? [{ id: path, label: nav.label, detail: nav.group, to: path }]
        : [],
    )
  const actions = features.flatMap((feature) => feature.actions ?? []).filter(({ label }) => label.toLowerCase().includes(wanted))
  return [...pages, ...[...actions, ...found.flatMap(({ data }) => data ?? [])].map((entry) => allowed(entry, role))]
}
