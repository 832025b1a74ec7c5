//! Tables as types: a struct whose fields are the columns.

use crate::rows::misplaced;
use crate::{Column, ColumnData, ColumnType, Order, RowWriter, Rows, Table};
use unbloat_units::{Both, Direction};

/// A value that a column can hold.
pub trait Cell: Sized {
    const KIND: ColumnType;

    /// Puts it at `row`, or a null.
    fn put(value: Option<Self>, row: usize, column: &mut ColumnData);
}

macro_rules! cells {
    ($($type:ty: $variant:ident, $value:ident => $plain:expr;)*) => {
        $(impl Cell for $type {
            const KIND: ColumnType = ColumnType::$variant;

            #[inline(always)]
            fn put(value: Option<Self>, row: usize, column: &mut ColumnData) {
                if let Some($value) = value {
                    match column {
                        ColumnData::$variant(values) => values.put(row, $plain),
                        _ => misplaced(Self::KIND),
                    }
                }
            }
        })*
    };
}

cells! {
    u64: U64, value => value;
    u32: U64, value => u64::from(value);
    u16: U64, value => u64::from(value);
    u8: U64, value => u64::from(value);
    usize: U64, value => value as u64;
    i64: I64, value => value;
    f64: F64, value => value;
    bool: Bool, value => value;
    &str: Text, value => value;
    Direction: Text, value => value.name();
}

impl Cell for String {
    const KIND: ColumnType = ColumnType::Text;

    fn put(value: Option<Self>, row: usize, column: &mut ColumnData) {
        <&str as Cell>::put(value.as_deref(), row, column);
    }
}

/// `None` is null.
impl<T: Cell> Cell for Option<T> {
    const KIND: ColumnType = T::KIND;

    #[inline(always)]
    fn put(value: Option<Self>, row: usize, column: &mut ColumnData) {
        T::put(value.flatten(), row, column);
    }
}

/// Some columns of a table with a value for each, in this order. [`columns!`](crate::columns) makes it of a struct.
pub trait Columns {
    const COUNT: usize;

    /// Appends what the columns are.
    fn columns(to: &mut Vec<Column>);

    /// Writes the values.
    fn write(self, to: &mut RowWriter<'_>);
}

/// None at all.
impl Columns for () {
    const COUNT: usize = 0;
    fn columns(_: &mut Vec<Column>) {}
    fn write(self, _: &mut RowWriter<'_>) {}
}

/// Columns that exist once for each direction. [`side_columns!`](crate::side_columns) makes it of a struct.
pub trait SideColumns {
    const COUNT: usize;
    fn columns(side: Direction, to: &mut Vec<Column>);
    fn write(self, to: &mut RowWriter<'_>);
}

/// Those of down, then those of up.
impl<T: SideColumns> Columns for Both<T> {
    const COUNT: usize = 2 * T::COUNT;

    fn columns(to: &mut Vec<Column>) {
        T::columns(Direction::Down, to);
        T::columns(Direction::Up, to);
    }

    #[inline(always)]
    fn write(self, to: &mut RowWriter<'_>) {
        self.down.write(to);
        self.up.write(to);
    }
}

/// All columns of a table.
pub trait Row: Columns + Sized {
    const NAME: &'static str;
    const DOC: &'static str;

    fn table() -> Table {
        let mut columns = Vec::new();
        Self::columns(&mut columns);
        Table {
            name: Self::NAME,
            doc: Self::DOC,
            columns,
        }
    }

    /// The table with these rows, in their order.
    fn filled(values: impl IntoIterator<Item = Self>) -> (Table, Rows) {
        let table = Self::table();
        let mut rows = Rows::new(&table);
        let values = values.into_iter().enumerate();
        values.for_each(|(at, row)| rows.push(Order::nth(at), row));
        (table, rows)
    }
}

/// Makes a struct, or several, whose fields are columns. A field's name is the column's, its type gives the column's,
/// `Option` holds nulls, and the text is the column's meaning:
///
/// ```
/// use unbloat_table::{Row, columns};
///
/// columns! {
///     pub struct Hop<'a>: hops = "one row per hop" {
///         address: &'a str = "who answered",
///         rtt_ms: Option<f64> = "null if nobody did",
///     }
/// }
///
/// let hop = Hop { address: "192.0.2.1", rtt_ms: Some(3.5) };
/// let (table, rows) = Hop::filled([hop]);
/// assert_eq!(table.columns[1].name, Hop::rtt_ms);
/// assert_eq!(rows.columns()[1].as_f64(0), Some(3.5));
/// ```
///
/// A field without a text stands for all columns of its type, in its place. Without `: table = "text"` the
/// struct is such a part of tables. Each column's name is a constant of the struct, for who reads it.
#[macro_export]
macro_rules! columns {
    () => {};
    (
        $(#[$attribute:meta])*
        $vis:vis struct $name:ident $(<$life:lifetime>)? $(: $table:ident = $about:literal)? {
            $($field:ident: $type:ty $(= $doc:literal)?),* $(,)?
        }
        $($more:tt)*
    ) => {
        $(#[$attribute])*
        $(#[doc = $about])?
        $vis struct $name $(<$life>)? { $($(#[doc = $doc])? $vis $field: $type,)* }

        #[allow(dead_code, non_upper_case_globals, reason = "the fields' names; not all have a reader")]
        impl $(<$life>)? $name $(<$life>)? {
            $($crate::__column!(const $vis $field $($doc)?);)*
        }

        impl $(<$life>)? $crate::Columns for $name $(<$life>)? {
            const COUNT: usize = 0 $(+ $crate::__column!(count [$type] $($doc)?))*;

            fn columns(to: &mut Vec<$crate::Column>) {
                $($crate::__column!(declare to $field [$type] $($doc)?);)*
            }

            #[inline(always)]
            fn write(self, to: &mut $crate::RowWriter<'_>) {
                $($crate::__column!(write to (self.$field) $($doc)?);)*
            }
        }

        $crate::__row!([$name $(<$life>)?] $($table $about)?);
        $crate::columns! { $($more)* }
    };
}

/// Makes a struct of columns that tables have for each direction, and in which `Both` of it is a part. A
/// column's name is what stands before and behind the direction; its constant is a name for each direction.
///
/// ```
/// use unbloat_table::{Columns, side_columns};
/// use unbloat_units::Both;
///
/// side_columns! {
///     pub struct Rtt {
///         p50_ms ["rtt_" "_p50_ms"]: Option<f64> = "median round trip",
///     }
/// }
///
/// let mut columns = Vec::new();
/// Both::<Rtt>::columns(&mut columns);
/// assert_eq!(columns.iter().map(|c| c.name).collect::<Vec<_>>(), ["rtt_down_p50_ms", Rtt::p50_ms.up]);
/// ```
#[macro_export]
macro_rules! side_columns {
    (
        $(#[$attribute:meta])*
        $vis:vis struct $name:ident $(<$life:lifetime>)? {
            $($field:ident [$before:literal $after:literal]: $type:ty = $doc:literal),* $(,)?
        }
    ) => {
        $(#[$attribute])*
        $vis struct $name $(<$life>)? { $(#[doc = $doc] $vis $field: $type,)* }

        #[allow(dead_code, non_upper_case_globals, reason = "the fields' names; not all have a reader")]
        impl $(<$life>)? $name $(<$life>)? {
            $($vis const $field: $crate::Names =
                $crate::Names::new(concat!($before, "down", $after), concat!($before, "up", $after));)*
        }

        impl $(<$life>)? $crate::SideColumns for $name $(<$life>)? {
            const COUNT: usize = [$($before),*].len();

            fn columns(side: $crate::Direction, to: &mut Vec<$crate::Column>) {
                $(to.push($crate::Column::of::<$type>(Self::$field[side], $doc));)*
            }

            #[inline(always)]
            fn write(self, to: &mut $crate::RowWriter<'_>) {
                $(to.cell(self.$field);)*
            }
        }
    };
}

/// Only what has a name and a text is a whole table.
#[doc(hidden)]
#[macro_export]
macro_rules! __row {
    ([$name:ident $(<$life:lifetime>)?] $table:ident $about:literal) => {
        impl $(<$life>)? $crate::Row for $name $(<$life>)? {
            const NAME: &'static str = stringify!($table);
            const DOC: &'static str = $about;
        }
    };
    ([$($name:tt)*]) => {};
}

/// A field with a text is a column, one without is a part.
#[doc(hidden)]
#[macro_export]
macro_rules! __column {
    (const $vis:vis $field:ident $doc:literal) => {
        $vis const $field: &'static str = $crate::plain_name(stringify!($field));
    };
    (const $vis:vis $field:ident) => {};
    (count [$type:ty] $doc:literal) => {
        1
    };
    (count [$type:ty]) => {
        <$type as $crate::Columns>::COUNT
    };
    (declare $to:ident $field:ident [$type:ty] $doc:literal) => {
        $to.push($crate::Column::of::<$type>(Self::$field, $doc))
    };
    (declare $to:ident $field:ident [$type:ty]) => {
        <$type as $crate::Columns>::columns($to)
    };
    (write $to:ident ($value:expr) $doc:literal) => {
        $to.cell($value)
    };
    (write $to:ident ($value:expr)) => {
        $crate::Columns::write($value, $to)
    };
}

/// A name for each direction.
pub type Names = Both<&'static str>;

/// The name of a field whose name is a word of Rust.
#[doc(hidden)]
pub const fn plain_name(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [b'r', b'#', ..] => name.split_at(2).1,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ColumnView;

    columns! {
        struct Whole<'a>: whole = "one row per test" {
            part: Part<'a>,
            sides: Both<Side>,
            r#type: String = "a word of Rust",
        }

        #[derive(Default)]
        struct Part<'a> {
            count: u32 = "a count",
            name: Option<&'a str> = "a name",
        }
    }

    side_columns! {
        #[derive(Clone, Copy)]
        struct Side {
            packets [ "packets_" "" ]: u64 = "packets",
            rtt_ms [ "rtt_" "_ms" ]: Option<f64> = "round trip",
        }
    }

    #[test]
    fn columns_stand_where_their_fields_do() {
        let names: Vec<&str> = Whole::table().columns.iter().map(|c| c.name).collect();
        let sides = ["packets_down", "rtt_down_ms", "packets_up", "rtt_up_ms"];
        assert_eq!(names, [&["count", "name"][..], &sides, &["type"]].concat());
        assert_eq!((Part::name, Side::rtt_ms.up), ("name", "rtt_up_ms"));
    }

    #[test]
    fn a_value_is_found_in_the_column_of_its_field() {
        let side = |packets| Side {
            packets,
            rtt_ms: (packets > 1).then_some(2.5),
        };
        let (table, rows) = Whole::filled([Whole {
            part: Part::default(),
            sides: Both::new(side(1), side(2)),
            r#type: "A".to_owned(),
        }]);
        let column = |name| ColumnView::of(table.column(name).map(|at| &rows.columns()[at]));
        assert_eq!(column(Part::count).u64(0), Some(0));
        assert_eq!(column(Part::name).text(0), None);
        assert_eq!(column(Whole::r#type).text(0), Some("A"));
        assert_eq!(
            Side::packets.map(|name| column(name).u64(0)),
            Both::new(Some(1), Some(2))
        );
        assert_eq!(
            Side::rtt_ms.map(|name| column(name).f64(0)),
            Both::new(None, Some(2.5))
        );
    }
}
