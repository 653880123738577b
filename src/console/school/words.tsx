import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import { I18nProvider } from 'react-aria-components'
import { type Language, languageOf } from '../../core/kit/index.ts'
import { KitTextsProvider } from '../kit/index.ts'
import { de } from './words/de.ts'
import { en, type Words } from './words/en.ts'

const catalogues: Readonly<Record<Language, Words>> = { de, en }
export const languages = Object.keys(catalogues) as Language[]

type Chosen = Readonly<{
  words: Words
  language: Language
  choose(language: Language): void
  /** The locale of the user who logged in. */
  learnLocale(locale: string | null): void
}>
const Chosen = createContext<Chosen>({ words: en, language: 'en', choose: () => undefined, learnLocale: () => undefined })

const key = 'school-language'
const stored = () => languages.find((one) => one === localStorage.getItem(key))

/** The language that was chosen in this browser, else that of the user, else that of the browser. */
export function LanguageProvider({ children }: Readonly<{ children: ReactNode }>) {
  const [chosen, setChosen] = useState(stored)
  const [locale, learnLocale] = useState<string | null>(null)
  const language = chosen ?? languageOf(locale ?? navigator.language)
  const words = catalogues[language]
  useEffect(() => {
    document.documentElement.lang = language
  }, [language])
  const value = useMemo(
    () => ({
      ...{ words, language, learnLocale },
      choose: (next: Language) => {
        localStorage.setItem(key, next)
        setChosen(next)
      },
    }),
    [words, language],
  )
  return (
    <Chosen value={value}>
      <KitTextsProvider texts={words.kit}>
        <I18nProvider locale={words.locale}>{children}</I18nProvider>
      </KitTextsProvider>
    </Chosen>
  )
}

export const useWords = (): Words => useContext(Chosen).words
export const useLanguage = () => useContext(Chosen)
