import { Link as RouterLink } from '@tanstack/react-router'
import { type ReactNode, useEffect } from 'react'
import { usePageTitle } from './installation.tsx'

/** A link to a page of the console, as a plain address: `/boxes/linden?tab=history`. */
export const Link = ({
  to,
  children,
  className,
  current,
}: Readonly<{ to: string; children: ReactNode; className?: string; current?: boolean }>) => {
  const [path = '/', query] = to.split('?', 2)
  return (
    <RouterLink
      to={path}
      search={(query ? Object.fromEntries(new URLSearchParams(query)) : {}) as never}
      activeOptions={{ exact: true }}
      activeProps={{ 'aria-current': undefined }}
      aria-current={current ? 'page' : undefined}
      {...(className ? { className } : {})}
    >
      {children}
    </RouterLink>
  )
}

let focused = ''

/**
 * Moves the focus to a page that was just opened, once, so that a screen reader names it and keys reach it. A field that took the focus by
 * itself, or a dialog, keeps it.
 */
function focusPage(): void {
  const { pathname } = location
  if (pathname === focused) return
  focused = pathname
  const main = document.getElementById('main')
  if (document.querySelector('[role=dialog], [role=alertdialog]') || main?.querySelector(':focus')) return
  main?.scrollTo(0, 0)
  main?.focus({ preventScroll: true })
}

/** The name of the page, the one line that answers it, and its actions. */
export function PageHeader({ title, answer, actions }: Readonly<{ title: string; answer?: ReactNode; actions?: ReactNode }>) {
  usePageTitle(title)
  useEffect(focusPage, [])
  return (
    <header className="page-head">
      <h1 id="page-title">{title}</h1>
      <div className="page-answer">{answer}</div>
      {actions && <div className="page-actions">{actions}</div>}
    </header>
  )
}

/** A part of a page under a line, with its heading. */
export const Section = ({ title, aside, children }: Readonly<{ title: string; aside?: ReactNode; children: ReactNode }>) => (
  <section className="section" aria-label={title}>
    <div className="section-head">
      <h2>{title}</h2>
      {aside && <div className="section-aside">{aside}</div>}
    </div>
    {children}
  </section>
)

type ScrollProps = Readonly<{ className: string; children: ReactNode; as?: 'div' | 'pre' }>

/** A part that scrolls by itself. It takes the focus, so that the keyboard scrolls it too. */
export const Scroll = ({ className, children, as: Part = 'div' }: ScrollProps) => (
  <Part className={className} tabIndex={0}>
    {children}
  </Part>
)

export type Fact = readonly [name: string, value: ReactNode]

/** Names and values; values that are absent are left out. */
export const KeyValues = ({ facts }: Readonly<{ facts: readonly Fact[] }>) => (
  <dl className="facts">
    {facts
      .filter(([, value]) => value !== undefined && value !== null && value !== false && value !== '')
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
)
