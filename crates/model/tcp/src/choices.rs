//! What a registry of parts that come in kinds has in common: names, parameters, and any one of them.

/// Makes `NAMES`, `Config` and an enum over all kinds out of lines like
/// `"cubic" => Cubic(cubic::Cubic)`. Modules lie beside the registry, each with a `Params` and a type
/// that is built from them. Dispatch is by `match`, so that hot loops stay monomorphic.
macro_rules! choices {
    ($any:ident: $($name:literal => $variant:ident($module:ident::$type:ident),)*) => {
        /// Names as in scenarios and on the command line.
        pub const NAMES: &[&str] = &[$($name,)*];

        /// Which kind, with what parameters.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Config { $($variant(super::$module::Params),)* }

        impl Config {
            /// The one of that name with the defaults of its reference.
            pub fn named(name: &str) -> Option<Config> {
                match name {
                    $($name => Some(Config::$variant(Default::default())),)*
                    _ => None,
                }
            }

            /// The one of that name with the parameters that the settings give; none if there is no such kind.
            pub fn read<S: unbloat_params::Settings>(
                name: &str,
                settings: &mut S,
            ) -> Result<Option<Config>, S::Error> {
                Ok(match name {
                    $($name => Some(Config::$variant(unbloat_params::Read::read(settings)?)),)*
                    _ => None,
                })
            }

            pub fn name(&self) -> &'static str {
                match self { $(Config::$variant(_) => $name,)* }
            }

            pub fn build(&self) -> $any {
                match self {
                    $(Config::$variant(params) => {
                        $any::$variant(super::$module::$type::new(params.clone()))
                    })*
                }
            }
        }

        /// Any kind.
        #[derive(Clone, Debug)]
        pub enum $any { $($variant(super::$module::$type),)* }
    };
}
pub(crate) use choices;
